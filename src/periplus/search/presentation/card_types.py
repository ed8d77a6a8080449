"""Types of knowledge cards: which facts one of each type shows, in what order, and what they are called.

Names are those of schema.org, as pages state them by JSON-LD and microdata.
"""

from typing import Final

__all__ = ["FACT_LABELS", "card_type", "wanted_facts"]

_TYPES: Final = {
    "Person": ("Person",),
    "Organization": (
        *("Organization", "Corporation", "NGO", "EducationalOrganization", "CollegeOrUniversity", "SportsTeam"),
        *("LocalBusiness", "Restaurant", "Store", "GovernmentOrganization", "MusicGroup"),
    ),
    "Place": (
        *("Place", "City", "Country", "AdministrativeArea", "LandmarksOrHistoricalBuildings", "TouristAttraction"),
        *("Mountain", "BodyOfWater", "Museum", "Park"),
    ),
    "Book": ("Book",),
    "Film": ("Movie", "TVSeries", "Film"),
    "Software": ("SoftwareApplication", "MobileApplication", "WebApplication", "VideoGame", "SoftwareSourceCode"),
    "Event": ("Event", "MusicEvent", "Festival", "SportsEvent", "BusinessEvent", "TheaterEvent", "ExhibitionEvent"),
    "Recipe": ("Recipe",),
}
_BY_NAME: Final = {name: kind for kind, names in _TYPES.items() for name in names}
_WANTED: Final = {
    "Person": "birthDate birthPlace deathDate deathPlace jobTitle nationality affiliation worksFor alumniOf award",
    "Organization": (
        "legalName foundingDate founder numberOfEmployees streetAddress addressLocality addressCountry telephone "
        "openingHours servesCuisine"
    ),
    "Place": "streetAddress addressLocality addressCountry containedInPlace elevation openingHours telephone",
    "Book": "author datePublished publisher numberOfPages isbn inLanguage genre",
    "Film": "director actor datePublished duration genre productionCompany countryOfOrigin",
    "Software": (
        "applicationCategory operatingSystem softwareVersion programmingLanguage license author price codeRepository"
    ),
    "Event": "startDate endDate location performer organizer eventStatus price",
    "Recipe": "prepTime cookTime totalTime recipeYield recipeCategory recipeCuisine calories author",
}
FACT_LABELS: Final = {
    "birthDate": "Born",
    "birthPlace": "Place of birth",
    "deathDate": "Died",
    "deathPlace": "Place of death",
    "jobTitle": "Occupation",
    "nationality": "Nationality",
    "affiliation": "Affiliation",
    "worksFor": "Works for",
    "alumniOf": "Studied at",
    "award": "Awards",
    "legalName": "Full name",
    "foundingDate": "Founded",
    "founder": "Founder",
    "numberOfEmployees": "Employees",
    "streetAddress": "Address",
    "addressLocality": "Town",
    "addressCountry": "Country",
    "telephone": "Telephone",
    "openingHours": "Opening hours",
    "servesCuisine": "Cuisine",
    "containedInPlace": "Part of",
    "elevation": "Elevation",
    "author": "Author",
    "creator": "Creator",
    "brand": "Brand",
    "manufacturer": "Manufacturer",
    "datePublished": "Published",
    "publisher": "Publisher",
    "numberOfPages": "Pages",
    "isbn": "ISBN",
    "inLanguage": "Language",
    "genre": "Genre",
    "director": "Director",
    "actor": "Cast",
    "duration": "Length",
    "productionCompany": "Produced by",
    "countryOfOrigin": "Country of origin",
    "applicationCategory": "Category",
    "operatingSystem": "Runs on",
    "softwareVersion": "Version",
    "programmingLanguage": "Written in",
    "license": "Licence",
    "price": "Price",
    "codeRepository": "Source code",
    "startDate": "Starts",
    "endDate": "Ends",
    "location": "Where",
    "performer": "With",
    "organizer": "Organizer",
    "eventStatus": "Status",
    "prepTime": "Preparation",
    "cookTime": "Cooking",
    "totalTime": "Total time",
    "recipeYield": "Makes",
    "recipeCategory": "Course",
    "recipeCuisine": "Cuisine",
    "calories": "Calories",
    "ratingValue": "Rating",
    "sku": "Item number",
    "priceCurrency": "Currency",
}
"""What properties are called on a card; those of an infobox have the name that the page gives them."""


def card_type(names: tuple[str, ...]) -> str:
    """Return the type of card for the types that a page states, or ''; the first that is known counts."""
    for name in names:
        known = _BY_NAME.get(name.rpartition("/")[2])
        if known:
            return known
    return ""


def wanted_facts(kind: str) -> tuple[str, ...]:
    """Return the properties that a card of a type shows first."""
    return tuple(_WANTED.get(kind, "").split())
