"""Pages for people: results, landing page, sites, locales, templates."""
