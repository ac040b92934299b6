"""A made-up film database with the 21 tables of the Join Order Benchmark, with skew and correlations across tables.

The benchmark (Leis et al., *How Good Are Query Optimizers, Really?*, VLDB 2015) is hard because real data is not uniform and not independent. The
same is made here, of seeded random numbers:

- *Skew*: films, people, companies and keywords are chosen with Zipf's law, so a few have a great share of all rows.
- *Correlation within a table*: a company's name goes with its country, a person's gender with the first name, an episode number with the kind.
- *Correlation across tables*: each film has a country, a genre and a fame that no table has as a column. They decide its companies, languages,
  keywords, notes and ratings, and how many rows it has in each table: a famous film has more cast, more keywords and more votes at once,
  so estimates that multiply averages are far too low.

`make(scale)` returns the rows of each table; 1.0 is about 1.1 million rows in all.
"""
import bisect
import itertools
import math
import random

SCHEMA = {
    "kind_type": "id INT NOT NULL PRIMARY KEY, kind VARCHAR(15) NOT NULL",
    "info_type": "id INT NOT NULL PRIMARY KEY, info VARCHAR(32) NOT NULL",
    "link_type": "id INT NOT NULL PRIMARY KEY, link VARCHAR(32) NOT NULL",
    "role_type": "id INT NOT NULL PRIMARY KEY, role VARCHAR(32) NOT NULL",
    "company_type": "id INT NOT NULL PRIMARY KEY, kind VARCHAR(32) NOT NULL",
    "comp_cast_type": "id INT NOT NULL PRIMARY KEY, kind VARCHAR(32) NOT NULL",
    "keyword": "id INT NOT NULL PRIMARY KEY, keyword VARCHAR(100) NOT NULL",
    "company_name": "id INT NOT NULL PRIMARY KEY, name VARCHAR(100) NOT NULL, country_code VARCHAR(8)",
    "char_name": "id INT NOT NULL PRIMARY KEY, name VARCHAR(100) NOT NULL",
    "name": "id INT NOT NULL PRIMARY KEY, name VARCHAR(100) NOT NULL, gender VARCHAR(1), name_pcode_cf VARCHAR(5)",
    "title": "id INT NOT NULL PRIMARY KEY, title VARCHAR(100) NOT NULL, kind_id INT NOT NULL, production_year INT, season_nr INT, episode_nr INT, "
             "KEY (kind_id)",
    "aka_name": "id INT NOT NULL PRIMARY KEY, person_id INT NOT NULL, name VARCHAR(100) NOT NULL, KEY (person_id)",
    "aka_title": "id INT NOT NULL PRIMARY KEY, movie_id INT NOT NULL, title VARCHAR(100) NOT NULL, kind_id INT NOT NULL, KEY (movie_id)",
    "cast_info": "id INT NOT NULL PRIMARY KEY, person_id INT NOT NULL, movie_id INT NOT NULL, person_role_id INT, note VARCHAR(60), nr_order INT, "
                 "role_id INT NOT NULL, KEY (movie_id), KEY (person_id), KEY (person_role_id), KEY (role_id)",
    "complete_cast": "id INT NOT NULL PRIMARY KEY, movie_id INT, subject_id INT NOT NULL, status_id INT NOT NULL, KEY (movie_id)",
    "movie_companies": "id INT NOT NULL PRIMARY KEY, movie_id INT NOT NULL, company_id INT NOT NULL, company_type_id INT NOT NULL, note VARCHAR(100), "
                       "KEY (movie_id), KEY (company_id), KEY (company_type_id)",
    "movie_info": "id INT NOT NULL PRIMARY KEY, movie_id INT NOT NULL, info_type_id INT NOT NULL, info VARCHAR(100) NOT NULL, note VARCHAR(60), "
                  "KEY (movie_id), KEY (info_type_id)",
    "movie_info_idx": "id INT NOT NULL PRIMARY KEY, movie_id INT NOT NULL, info_type_id INT NOT NULL, info VARCHAR(20) NOT NULL, KEY (movie_id), "
                      "KEY (info_type_id)",
    "movie_keyword": "id INT NOT NULL PRIMARY KEY, movie_id INT NOT NULL, keyword_id INT NOT NULL, KEY (movie_id), KEY (keyword_id)",
    "movie_link": "id INT NOT NULL PRIMARY KEY, movie_id INT NOT NULL, linked_movie_id INT NOT NULL, link_type_id INT NOT NULL, KEY (movie_id), "
                  "KEY (linked_movie_id), KEY (link_type_id)",
    "person_info": "id INT NOT NULL PRIMARY KEY, person_id INT NOT NULL, info_type_id INT NOT NULL, info VARCHAR(100) NOT NULL, note VARCHAR(40), "
                   "KEY (person_id), KEY (info_type_id)",
}

KINDS = ["movie", "tv series", "tv movie", "video movie", "tv mini series", "video game", "episode"]
ROLES = ["actor", "actress", "producer", "writer", "cinematographer", "composer", "costume designer", "director", "editor", "guest",
         "production designer", "miscellaneous crew"]
LINKS = ["follows", "followed by", "remake of", "remade as", "references", "referenced in", "spoofs", "spoofed in", "features", "featured in",
         "spin off from", "spin off", "version of", "similar to", "edited into", "edited from", "alternate language version of", "unknown link"]
COMPANY_TYPES = ["distributors", "production companies", "special effects companies", "miscellaneous companies"]
CAST_TYPES = ["cast", "crew", "complete", "complete+verified"]
INFOS = ["runtimes", "color info", "genres", "languages", "certificates", "sound mix", "countries", "taglines", "keywords", "release dates", "locations",
         "trivia", "quotes", "votes", "rating", "votes distribution", "top 250 rank", "bottom 10 rank", "mini biography", "birth date", "birth notes",
         "death date", "height", "spouse", "nick names", "budget", "gross"]
ROWS_AT_ONCE = 2000
#: A country, its code, its language, how people are called there, and how many films come from it.
COUNTRIES = [("USA", "[us]", "English", "ers", 40), ("UK", "[gb]", "English", "ton", 12), ("France", "[fr]", "French", "eau", 9), ("Germany", "[de]", "German", "mann", 8),
             ("India", "[in]", "Hindi", "esh", 7), ("Japan", "[jp]", "Japanese", "moto", 6), ("Italy", "[it]", "Italian", "elli", 5),
             ("Sweden", "[se]", "Swedish", "sson", 3), ("Denmark", "[dk]", "Danish", "sen", 2), ("Norway", "[no]", "Norwegian", "vik", 2),
             ("Poland", "[pl]", "Polish", "ski", 2), ("Russia", "[ru]", "Russian", "ov", 2), ("Bulgaria", "[bg]", "Bulgarian", "eva", 1)]
GENRES = ["Drama", "Comedy", "Short", "Documentary", "Action", "Horror", "Thriller", "Crime", "Romance", "Animation", "Sci-Fi", "Western", "War", "Musical"]
#: What a genre's films have as keywords, besides anything else.
SUBJECTS = {"Drama": ["family", "love", "death", "hospital"], "Comedy": ["friendship", "wedding", "character-name-in-title"], "Short": ["independent-film"],
            "Documentary": ["nature", "archive-footage"], "Action": ["superhero", "fight", "martial-arts", "sequel", "hero", "based-on-comic"],
            "Horror": ["blood", "gore", "murder", "violence", "sequel"], "Thriller": ["murder", "violence", "revenge"], "Crime": ["murder", "police", "gangster"],
            "Romance": ["love", "kiss", "wedding"], "Animation": ["computer-animation", "talking-animal", "based-on-comic"],
            "Sci-Fi": ["robot", "alien", "space", "sequel"], "Western": ["horse", "cowboy"], "War": ["soldier", "death"], "Musical": ["song", "dance"]}
SYLLABLES = ["an", "bel", "cor", "dar", "el", "fin", "gar", "hol", "ing", "jo", "kal", "lu", "mar", "nor", "os", "pet", "qui", "ros", "sam", "tor", "ul", "vin",
             "wes", "yo", "zan", "ang", "bert", "man"]
FIRST = {"m": ["John", "Robert", "Tim", "Bert", "Yosuke", "Hans", "Pierre", "Ivan", "Luca", "Raj", "Lars", "Peter", "Samuel", "Otto"],
         "f": ["Angela", "Anna", "Maria", "Yoko", "Claire", "Olga", "Giulia", "Ingrid", "Joan", "Mangala", "Berta", "Helen"]}
STUDIOS = ["Film", "Pictures", "Entertainment", "Warner", "Television", "Animation", "Lionsgate", "Home Video", "Productions"]
WRITERS = ["(writer)", "(head writer)", "(written by)", "(story)", "(story editor)", "(screenplay)"]
VOICES = ["(voice)", "(voice) (uncredited)", "(voice: English version)", "(voice: Japanese version)"]


class Chance(random.Random):
    """Random numbers, and what is made of them here."""

    def zipf(self, count: int) -> int:
        """A number below `count`; each is about as frequent as its rank says."""
        return min(int(math.exp(self.random() * math.log(count + 1))) - 1, count - 1)

    def word(self, parts: int) -> str:
        return "".join(self.choice(SYLLABLES) for _ in range(parts)).capitalize()


class Zipf:
    """Numbers below `count` by Zipf's law with an exponent below 1, where no few of them have everything."""

    def __init__(self, count: int, exponent: float):
        self.sums = list(itertools.accumulate(1 / (rank + 1) ** exponent for rank in range(count)))

    def draw(self, chance: random.Random) -> int:
        return bisect.bisect_left(self.sums, chance.random() * self.sums[-1])


def numbered(values: list[str]) -> list[tuple]:
    return [(at + 1, value) for at, value in enumerate(values)]


def make(scale: float, seed: int = 1) -> dict[str, list[tuple]]:
    """The rows of each table."""
    chance = Chance(seed)
    tables = {name: [] for name in SCHEMA}
    for name, values in [("kind_type", KINDS), ("info_type", INFOS), ("link_type", LINKS), ("role_type", ROLES), ("company_type", COMPANY_TYPES),
                         ("comp_cast_type", CAST_TYPES)]:
        tables[name] = numbered(values)
    weights = [country[4] for country in COUNTRIES]
    subjects = sorted({subject for of_genre in SUBJECTS.values() for subject in of_genre})
    keywords = subjects + [f"{chance.word(2).lower()}-{chance.word(2).lower()}" for _ in range(int(4000 * scale))]
    tables["keyword"] = numbered(keywords)
    companies_of = [[] for _ in COUNTRIES]
    for at in range(1, int(6000 * scale) + 1):
        country = chance.choices(range(len(COUNTRIES)), weights)[0]
        tables["company_name"].append((at, f"{chance.word(2)} {STUDIOS[chance.zipf(len(STUDIOS))]}", COUNTRIES[country][1] if chance.random() < 0.95 else None))
        companies_of[country].append(at)
    for at in range(1, int(40_000 * scale) + 1):
        tables["char_name"].append((at, chance.choice(["Queen", "Man in Car", "Woman", "Himself", "Policeman"]) if chance.random() < 0.1 else
                                    f"{chance.word(2)} {chance.word(2)}"))
    people_of = people(chance, tables, scale, weights)
    films(chance, tables, scale, weights, dict(companies=companies_of, people=people_of, keywords=keywords))
    return tables


def people(chance: Chance, tables: dict, scale: float, weights: list[int]) -> list[list[int]]:
    """Those of each country; the famous come first."""
    people_of = [[] for _ in COUNTRIES]
    infos = {info: at + 1 for at, info in enumerate(INFOS)}
    for at in range(1, int(60_000 * scale) + 1):
        country = chance.choices(range(len(COUNTRIES)), weights)[0]
        gender = chance.choices(["m", "f", None], [60, 35, 5])[0]
        last = chance.word(2) + COUNTRIES[country][3]
        name = f"{last}, {chance.choice(FIRST[gender or 'm'])}"
        tables["name"].append((at, name, gender, f"{last[0]}{chance.randrange(1, 700)}"))
        people_of[country].append(at)
        fame = 1 / (1 + len(people_of[country]) / (2000 * scale))
        for _ in range(int(chance.expovariate(1) * 3 * fame)):
            tables["aka_name"].append((len(tables["aka_name"]) + 1, at, f"{chance.word(2)}, {chance.choice(FIRST[gender or 'f'])}"))
        for _ in range(int(chance.expovariate(1) * 6 * fame)):
            info = chance.choice(["mini biography", "birth date", "birth notes", "height", "spouse", "nick names", "trivia"])
            note = chance.choice(["Volker Boehm", "Jo Smith", "Anonymous"]) if info == "mini biography" and chance.random() < 0.6 else None
            tables["person_info"].append((len(tables["person_info"]) + 1, at, infos[info], f"{chance.word(3)} {chance.word(2)}", note))
    return people_of


def films(chance: Chance, tables: dict, scale: float, weights: list[int], of: dict) -> None:
    infos = {info: at + 1 for at, info in enumerate(INFOS)}
    keyword_ids = {keyword: at + 1 for at, keyword in enumerate(of["keywords"])}
    count, characters = int(40_000 * scale), len(tables["char_name"])
    known = [(Zipf(len(ids), 0.8), ids) for ids in of["people"]]
    studios = [(Zipf(len(ids), 0.9), ids) for ids in of["companies"]]

    def add(table: str, *row) -> None:
        tables[table].append((len(tables[table]) + 1, *row))

    def one_of(country: int, drawn: list, share: float) -> int:
        """A person or company of the country, for the most part."""
        draw, ids = drawn[country if chance.random() < share else chance.randrange(len(COUNTRIES))]
        if not ids:
            draw, ids = drawn[0]
        return ids[draw.draw(chance)]

    for film in range(1, count + 1):
        country = chance.choices(range(len(COUNTRIES)), weights)[0]
        name, _, language, _, _ = COUNTRIES[country]
        kind = chance.choices(range(len(KINDS)), [35, 4, 5, 8, 1, 2, 45])[0]
        genres = [GENRES[chance.zipf(len(GENRES))]]
        if chance.random() < 0.5:
            genres.append(GENRES[(GENRES.index(genres[0]) + chance.choice([1, 2, 7])) % len(GENRES)])
        year = None if chance.random() < 0.03 else 2014 - min(int(chance.expovariate(1 / 18)), 110)
        # One film in a hundred has fifty times what most have, and famous ones are no episodes.
        fame = min(chance.paretovariate(1.1), 60) * (0.35 if KINDS[kind] == "episode" else 1.2) * (1.3 if country == 0 else 0.8)
        season = chance.randrange(1, 12) if KINDS[kind] == "episode" else None
        add("title", f"{chance.word(2)} {chance.word(1 + chance.randrange(3))}", kind + 1, year, season, season and chance.randrange(1, 110))
        voiced = "Animation" in genres or country == 5 and chance.random() < 0.5
        for order in range(1 + int(chance.expovariate(1) * 3.3 * fame)):
            cast(chance, tables, film, order, one_of(country, known, 0.9), characters, voiced)
        for _ in range(int(chance.expovariate(1) * 0.75 * fame)):
            about = chance.choice(SUBJECTS[genres[0]]) if chance.random() < 0.6 else of["keywords"][chance.zipf(len(of["keywords"]))]
            add("movie_keyword", film, keyword_ids[about])
        for _ in range(int(chance.random() + 0.5 + 0.22 * fame)):
            company, company_type = one_of(country, studios, 0.85), chance.choices([1, 2, 3, 4], [50, 42, 3, 5])[0]
            where = chance.choice([name, name, "worldwide", "Japan", "USA"])
            how = chance.choice(["(theatrical)", "(TV)", "(VHS)", "(DVD)", "(presents)", "(co-production)"])
            add("movie_companies", film, company, company_type, None if chance.random() < 0.4 else f"({year}) ({where}) {how}")
        add("movie_info", film, infos["countries"], name, None)
        add("movie_info", film, infos["languages"], language, None)
        for genre in genres:
            add("movie_info", film, infos["genres"], genre, None)
        for _ in range(int(0.3 + chance.expovariate(1) * 0.8 * fame)):
            info = chance.choices(["release dates", "runtimes", "trivia", "taglines", "locations", "budget", "certificates"], [40, 15, 12, 8, 15, 4, 6])[0]
            text = f"{chance.choice([name, name, 'USA', 'Japan'])}:{chance.randrange(1, 29)} May {year}" if info == "release dates" else f"{chance.word(3)} {chance.word(2)}"
            add("movie_info", film, infos[info], text, "(internet)" if info == "release dates" and chance.random() < 0.2 else None)
        if fame > 0.6:
            rating = min(max(chance.gauss(5.6, 1.2) + (0.8 if fame > 8 else 0) - (0.9 if "Horror" in genres else 0), 1), 9.8)
            add("movie_info_idx", film, infos["rating"], f"{rating:.1f}")
            add("movie_info_idx", film, infos["votes"], str(int(5 + fame ** 2 * chance.expovariate(1) * 40)))
            if fame > 30 and rating > 6.5:
                add("movie_info_idx", film, infos["top 250 rank"], str(chance.randrange(1, 251)))
            elif fame > 15 and rating < 4.3:
                add("movie_info_idx", film, infos["bottom 10 rank"], str(chance.randrange(1, 11)))
        if chance.random() < min(0.02 * fame, 0.6):
            linked = 1 + chance.randrange(max(film - 1, 1)) if chance.random() < 0.5 else max(film - 1 - chance.randrange(40), 1)
            add("movie_link", film, linked, 1 + chance.zipf(len(LINKS)))
        if chance.random() < min(0.03 * fame, 0.7):
            add("complete_cast", film, 1 + (chance.random() < 0.3), 3 + (chance.random() < 0.4))
        if chance.random() < min(0.05 * fame, 0.8):
            add("aka_title", film, f"{chance.word(2)} {chance.word(2)}", kind + 1)


def cast(chance: Chance, tables: dict, film: int, order: int, person: int, characters: int, voiced: bool) -> None:
    """One person's part in a film: women are actresses, and who is only heard is in an animation."""
    gender = tables["name"][person - 1][2]
    acts = chance.random() < 0.65
    role = (2 if gender == "f" else 1) if acts else chance.choices(range(3, 13), [14, 14, 5, 5, 3, 9, 5, 6, 3, 20])[0]
    note = None
    if acts and chance.random() < (0.8 if voiced else 0.04):
        note = VOICES[chance.zipf(len(VOICES))]
    elif acts and chance.random() < 0.08:
        note = "(uncredited)"
    elif role == 3:
        note = chance.choice(["(producer)", "(executive producer)"])
    elif role == 4:
        note = WRITERS[chance.zipf(len(WRITERS))]
    character = 1 + chance.zipf(characters) if acts and chance.random() < 0.9 else None
    tables["cast_info"].append((len(tables["cast_info"]) + 1, person, film, character, note, order + 1 if acts else None, role))


def columns(table: str) -> list[str]:
    """The names of a table's columns."""
    return [part.split()[0] for part in SCHEMA[table].split(", ") if not part.startswith("KEY")]


def fill(cursor, database: str, tables: dict[str, list[tuple]]) -> None:
    """Makes the database anew, and has the server look at it."""
    for statement in [f"DROP DATABASE IF EXISTS {database}", f"CREATE DATABASE {database}", f"USE {database}"]:
        cursor.execute(statement)
    for name, definition in SCHEMA.items():
        cursor.execute(f"CREATE TABLE {name} ({definition})")
        for at in range(0, len(tables[name]), ROWS_AT_ONCE):
            rows = tables[name][at:at + ROWS_AT_ONCE]
            cursor.execute(f"INSERT INTO {name} VALUES " + ", ".join(cursor.mogrify(f"({', '.join(['%s'] * len(row))})", row) for row in rows))
    cursor.execute("ANALYZE TABLE " + ", ".join(SCHEMA))
    cursor.fetchall()
