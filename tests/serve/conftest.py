"""Servers of these tests are patient: none of them is about how long a search may wait, unless it says so."""

from patience import be_patient

be_patient()
