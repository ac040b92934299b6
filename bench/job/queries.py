"""113 queries over the data of `data.py`, in the 33 families of the Join Order Benchmark.

A family is a join graph and kinds of conditions; the benchmark's own texts are not here. Around a film stand its *satellites* (cast, companies,
keywords, infos, links, …), each with dimensions of its own, and each is said to be of the same film as each other, as there. The constants of a query
come from a *witness*: a film chosen at random that has rows in all satellites, so most queries find something. In one query of ten a constant is
another one's.
"""
import itertools
import random

from .data import columns

#: An alias: its table and the column of another alias that its own column equals. `movie_id` stands for the film.
PLACES = {
    "kt": ("kind_type", "id", "t.kind_id"), "mc": ("movie_companies", "movie_id", "t.id"), "cn": ("company_name", "id", "mc.company_id"),
    "ct": ("company_type", "id", "mc.company_type_id"), "mi": ("movie_info", "movie_id", "t.id"), "it1": ("info_type", "id", "mi.info_type_id"),
    "mi_idx": ("movie_info_idx", "movie_id", "t.id"), "it2": ("info_type", "id", "mi_idx.info_type_id"), "mk": ("movie_keyword", "movie_id", "t.id"),
    "k": ("keyword", "id", "mk.keyword_id"), "ci": ("cast_info", "movie_id", "t.id"), "n": ("name", "id", "ci.person_id"),
    "chn": ("char_name", "id", "ci.person_role_id"), "rt": ("role_type", "id", "ci.role_id"), "an": ("aka_name", "person_id", "n.id"),
    "pi": ("person_info", "person_id", "n.id"), "it3": ("info_type", "id", "pi.info_type_id"), "cc": ("complete_cast", "movie_id", "t.id"),
    "cct1": ("comp_cast_type", "id", "cc.subject_id"), "cct2": ("comp_cast_type", "id", "cc.status_id"), "ml": ("movie_link", "movie_id", "t.id"),
    "lt": ("link_type", "id", "ml.link_type_id"), "at": ("aka_title", "movie_id", "t.id"),
    # The film that another one is linked with.
    "t2": ("title", "id", "ml.linked_movie_id"), "mc2": ("movie_companies", "movie_id", "t2.id"), "cn2": ("company_name", "id", "mc2.company_id"),
    "mi_idx2": ("movie_info_idx", "movie_id", "t2.id"), "it4": ("info_type", "id", "mi_idx2.info_type_id"), "kt2": ("kind_type", "id", "t2.kind_id"),
}

#: How many queries a family has, what stands around the film, and conditions. `=` a value; `in` some; `~` a piece of a text; `|~` one of two; `^` how it
#: begins; `!~` and `<>` not another's; `>`, `<` and `..` beyond and around; `0` whether it is NULL. `?`: in some of its queries.
FAMILIES = [
    (4, "mc ct mi_idx it2", "ct.kind= it2.info= mc.note!~ ?mc.note|~ ?t.production_year>"),
    (4, "mc cn mk k", "cn.country_code= k.keyword="),
    (3, "mi mk k", "k.keyword~ mi.infoin t.production_year>"),
    (3, "mi_idx it2 mk k", "it2.info= k.keyword~ mi_idx.info> t.production_year>"),
    (3, "mc ct mi it1", "ct.kind= mc.note~ ?mc.note!~ mi.infoin t.production_year>"),
    (6, "ci n mk k", "k.keywordin n.name~ ?t.production_year>"),
    (3, "ci n an pi it3 ml lt", "an.name~ it3.info= lt.link= n.name_pcode_cf.. ?n.gender= ?pi.note0 t.production_year.."),
    (4, "ci n an mc cn rt", "?ci.note= cn.country_code= ?mc.note~ ?n.name~ rt.role="),
    (4, "ci n an chn rt mc cn", "ci.notein cn.country_code= ?mc.note0 ?mc.note|~ n.gender= n.name~ rt.role= ?t.production_year.."),
    (3, "ci chn rt mc cn ct", "ci.note~ cn.country_code= rt.role= t.production_year>"),
    (4, "mc cn ct mk k ml lt", "cn.country_code<> cn.name|~ ct.kind= k.keyword= ?lt.link~ mc.note0 t.production_year.."),
    (3, "mc cn ct mi it1 mi_idx it2", "cn.country_code= ct.kind= it1.info= it2.info= ?mi.infoin mi_idx.info> t.production_year.."),
    (4, "mc cn ct mi it1 mi_idx it2 kt", "cn.country_code= ct.kind= it1.info= it2.info= kt.kind= ?t.title~"),
    (3, "mi it1 mi_idx it2 mk k kt", "it1.info= it2.info= k.keywordin kt.kindin mi.infoin mi_idx.info< t.production_year>"),
    (4, "at mc cn ct mi it1 mk k", "cn.country_code= it1.info= ?mc.note~ ?mi.note~ ?mi.info^ t.production_year>"),
    (4, "ci n an mc cn mk k", "cn.country_code= k.keyword= t.episode_nr.."),
    (6, "ci n mc cn mk k", "?cn.country_code= k.keyword= n.name^"),
    (3, "ci n mi it1 mi_idx it2", "ci.notein it1.info= it2.info= n.gender= ?n.name~ ?mi.infoin"),
    (4, "ci n an chn rt mc cn mi it1", "ci.notein cn.country_code= it1.info= ?mc.note|~ n.gender= ?n.name~ rt.role= t.production_year.."),
    (3, "cc cct1 cct2 ci n chn kt mk k", "cct1.kind= cct2.kind~ ?chn.name~ k.keywordin kt.kind= t.production_year>"),
    (3, "mc cn ct mk k mi ml lt", "cn.country_code<> cn.name|~ ct.kind= k.keyword= lt.link~ mc.note0 mi.infoin t.production_year.."),
    (4, "mc cn ct mi it1 mi_idx it2 mk k kt", "cn.country_code<> it1.info= it2.info= k.keywordin kt.kindin ?mc.note!~ mi.infoin mi_idx.info< t.production_year>"),
    (3, "cc cct2 mc cn ct mi it1 mk k kt", "cct2.kind= cn.country_code= it1.info= kt.kindin ?mi.note~ mi.info|~ t.production_year>"),
    (2, "ci n an chn rt mc cn mi it1 mk k", "ci.notein cn.country_code= it1.info= k.keywordin mi.info|~ n.gender= n.name~ rt.role= t.production_year>"),
    (3, "ci n mi it1 mi_idx it2 mk k", "ci.notein it1.info= it2.info= k.keywordin mi.infoin n.gender="),
    (3, "cc cct1 cct2 ci n chn mi_idx it2 mk k kt", "cct1.kind= cct2.kind~ ?chn.name~ it2.info= k.keywordin kt.kind= ?mi_idx.info> t.production_year>"),
    (3, "cc cct1 cct2 mc cn ct mk k mi ml lt", "cct1.kindin cct2.kind= cn.country_code<> cn.name|~ ct.kind= k.keyword= lt.link~ mc.note0 mi.infoin "
        "t.production_year.."),
    (3, "cc cct1 cct2 mc cn ct mi it1 mi_idx it2 mk k kt", "cct1.kind= cct2.kind<> cn.country_code<> it1.info= it2.info= k.keywordin kt.kindin mc.note!~ mi.infoin "
        "mi_idx.info< t.production_year>"),
    (3, "ci n an chn rt pi it3 cc cct1 cct2 mc cn mi it1 mk k", "cct1.kind= cct2.kind= ci.notein cn.country_code= it1.info= it3.info= k.keyword= mi.info|~ "
        "n.gender= n.name~ rt.role= t.production_year.. ?t.title= ?chn.name="),
    (3, "cc cct1 cct2 ci n mi it1 mi_idx it2 mk k", "cct1.kindin cct2.kind= ci.notein it1.info= it2.info= k.keywordin mi.infoin n.gender= ?t.production_year>"),
    (3, "ci n mc cn mi it1 mi_idx it2 mk k", "ci.notein cn.name^ it1.info= it2.info= k.keywordin mi.infoin n.gender="),
    (2, "mk k ml lt t2", "k.keyword="),
    (3, "mc cn mi_idx it2 kt ml lt t2 mc2 cn2 mi_idx2 it4 kt2", "cn.country_code= it2.info= it4.info= kt.kindin kt2.kindin lt.linkin mi_idx2.info< t2.production_year.."),
]
OPERATORS = ["|~", "!~", "<>", "..", "in", "=", "~", "^", ">", "<", "0"]
#: What a query shows, as far as it is there.
SHOWN = ["t.title", "n.name", "cn.name", "mi_idx.info", "chn.name", "an.name", "lt.link", "t2.title"]
TRIES = 4000


class Films:
    """The rows that belong together."""

    def __init__(self, tables: dict[str, list[tuple]]):
        self.tables = tables
        self.by: dict[tuple[str, str], dict[int, list[tuple]]] = {}
        for table, own, _ in PLACES.values():
            at = columns(table).index(own)
            if (table, own) not in self.by:
                groups = self.by[table, own] = {}
                for row in tables[table]:
                    groups.setdefault(row[at], []).append(row)

    def witness(self, chance: random.Random, aliases: list[str]) -> dict[str, tuple]:
        """A row of each alias that join."""
        for _ in range(TRIES):
            rows = {"t": chance.choice(self.tables["title"])}
            for alias in aliases:
                table, own, (other, column) = PLACES[alias][0], PLACES[alias][1], PLACES[alias][2].split(".")
                found = self.by[table, own].get(value(rows, other, column))
                if not found:
                    break
                rows[alias] = chance.choice(found)
            else:
                return rows
        raise ValueError(f"no film has all of {aliases}")


def table_of(alias: str) -> str:
    return "title" if alias == "t" else PLACES[alias][0]


def value(rows: dict[str, tuple], alias: str, column: str):
    return rows[alias][columns(table_of(alias)).index(column)]


def quoted(constant) -> str:
    return str(constant) if isinstance(constant, int) else "'" + str(constant).replace("'", "''") + "'"


def condition(chance: random.Random, films: Films, rows: dict, place: str, operator: str) -> str | None:
    """A condition on a column that the witness satisfies; `None` if that is NULL and nothing can be said."""
    alias, column = place.split(".")
    own, table = value(rows, alias, column), table_of(alias)
    if operator == "0":
        return f"{place} IS {'' if own is None else 'NOT '}NULL"
    if own is None:
        return None
    at = columns(table).index(column)
    others = [other for _ in range(60) if (other := chance.choice(films.tables[table])[at]) not in (None, own)]
    piece = lambda text: max(str(text).replace("(", " ").replace(")", " ").split(), key=len)[:6]  # noqa: E731
    match operator:
        case "=":
            return f"{place} = {quoted(own)}"
        case "in":
            some = sorted({own, *others[:chance.randrange(1, 6)]}, key=str)
            return f"{place} IN ({', '.join(map(quoted, some))})"
        case "~":
            return f"{place} LIKE '%{piece(own)}%'"
        case "|~":
            return f"({place} LIKE '%{piece(own)}%' OR {place} LIKE '%{piece((others or [own])[0])}%')"
        case "^":
            return f"{place} LIKE '{str(own)[:chance.randrange(1, 4)]}%'"
        case "!~":
            unlike = [other for other in others if piece(other) not in str(own)]
            return f"{place} NOT LIKE '%{piece(unlike[0])}%'" if unlike else None
        case "<>":
            return f"{place} <> {quoted(others[0])}" if others else None
        case "..":
            low, high = (own - chance.randrange(1, 10), own + chance.randrange(1, 10)) if isinstance(own, int) else sorted([own, (others or [own])[0]])
            return f"{place} BETWEEN {quoted(low)} AND {quoted(high)}"
        case ">" | "<":
            beyond = [other for other in others if (other < own) == (operator == ">")]
            return f"{place} {operator} {quoted(chance.choice(beyond))}" if beyond else f"{place} {operator}= {quoted(own)}"


def joins(aliases: list[str]) -> list[str]:
    """The equalities, those that follow from others included."""
    found = [f"{alias}.{PLACES[alias][1]} = {PLACES[alias][2]}" for alias in aliases]
    for film in ("t.id", "t2.id"):
        of_film = [f"{alias}.movie_id" for alias in aliases if PLACES[alias][2] == film] + (["ml.linked_movie_id"] if film == "t2.id" and "t2" in aliases else [])
        found += [f"{one} = {other}" for one, other in itertools.combinations(of_film, 2)]
    found += [f"{alias}.person_id = ci.person_id" for alias in aliases if PLACES[alias][2] == "n.id"]
    return found


def queries(tables: dict[str, list[tuple]], seed: int = 2) -> dict[str, str]:
    """The texts by their names: 1a, 1b, …"""
    films, texts = Films(tables), {}
    for family, (count, around, wanted) in enumerate(FAMILIES, 1):
        aliases = around.split()
        for variant in "abcdef"[:count]:
            # A family that changes leaves the others as they are.
            chance = random.Random(f"{seed}/{family}{variant}")
            rows, strange = films.witness(chance, aliases), chance.random() < 0.1
            chosen = [part.lstrip("?") for part in wanted.split() if part[0] != "?" or chance.random() < 0.6]
            conditions = []
            for part in chosen:
                operator = next(operator for operator in OPERATORS if part.endswith(operator))
                source = films.witness(chance, aliases) if strange and part == chosen[-1] else rows
                conditions.append(condition(chance, films, source, part.removesuffix(operator), operator))
            shown = [f"MIN({place})" for place in SHOWN if place.split(".")[0] in ["t", *aliases]][:3]
            tables_of = ", ".join(f"{table_of(alias)} AS {alias}" for alias in ["t", *aliases])
            where = " AND ".join([one for one in conditions if one] + joins(aliases))
            texts[f"{family}{variant}"] = f"SELECT COUNT(*), {', '.join(shown)} FROM {tables_of} WHERE {where}"
    return texts
