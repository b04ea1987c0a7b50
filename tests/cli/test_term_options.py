"""Terms asked for on the command line: each option end to end, refusals, tables and the report."""

from __future__ import annotations

import csv
import html
import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

import tiewise as tw
from tiewise.cli.main import main
from tiewise.geo.areas import Areas
from tiewise.posterior.results_folder import read_results
from tiewise.posterior.terms.sentences import judge_sentences
from tiewise.report.reproduce import fit_command, python_call
from tiewise.report.section import DataTable
from tiewise.report.sections.groups import group_section
from tiewise.report.sections.judges import judge_section

ITEMS, JUDGES = 9, 8
QUICK = ("--draws", "600", "--seed", "1", "--variance", "1")


@pytest.fixture(scope="module")
def furniture(tmp_path_factory) -> Path:
    """A map, judgements of two kinds of judges, and tables of items and of judges."""
    folder = tmp_path_factory.mktemp("desk")
    areas = Areas.synthetic(ITEMS, rng=4)
    table = areas.frame().assign(deprivation=np.arange(ITEMS) * 1.5, town=["yes", "no", "no"] * 3)
    table.to_file(folder / "wards.gpkg", driver="GPKG")
    table[["id", "deprivation", "town"]].to_csv(folder / "wards.csv", index=False)
    judged(seed=5).to_csv(folder / "study.csv", index=False)
    sexes = [{"user_id": f"j{k}", "sex": "women" if k % 2 else "men"} for k in range(JUDGES)]
    pd.DataFrame(sexes).to_csv(folder / "judges.csv", index=False)
    return folder


@pytest.fixture(autouse=True)
def desk(furniture, tmp_path, monkeypatch) -> Path:
    """A desk of one test's own, with copies of all that."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(furniture, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture(scope="module")
def grouped(furniture, tmp_path_factory) -> Path:
    """Results of women and men told apart by a column of the judgements; not to be changed."""
    out = tmp_path_factory.mktemp("grouped") / "out"
    words = ("--judge-groups", "sex", "--no-report")
    result = run("fit", furniture / "study.csv", *QUICK, "--out", out, *words)
    assert result.exit_code == 0, result.output
    return out


def judged(*, seed: int, number: int = 700) -> pd.DataFrame:
    """Higher ids are better; women think more of ward 1; the one shown first gains; j0 guesses."""
    rng = np.random.default_rng(seed)
    first = rng.integers(ITEMS, size=number)
    second = (first + rng.integers(1, ITEMS, size=number)) % ITEMS
    judge = np.arange(number) % JUDGES
    view = np.tile(np.linspace(-1.5, 1.5, ITEMS), (JUDGES, 1))
    view[1::2, 0] += 4
    gap = view[judge, first] - view[judge, second] + 0.8
    gap = np.where(judge == 0, 0, gap)
    tie = np.where(judge == 2, 1.5, 0.3)
    uniform = rng.uniform(size=number)
    wins = uniform < 1 / (1 + np.exp(tie - gap))
    loses = uniform > 1 - 1 / (1 + np.exp(tie + gap))
    chosen = np.select([wins, loses], [first + 1, second + 1], 0)
    return pd.DataFrame(
        {"user_id": [f"j{k}" for k in judge], "item_1_id": first + 1, "item_2_id": second + 1,
         "selected_item_id": [str(k) if k else "" for k in chosen],
         "state": np.where(chosen > 0, "selected", "tied"),
         "sex": np.where(judge % 2, "women", "men"),
         "year": np.where(np.arange(number) < number // 2, 2019, 2024)}
    )  # fmt: skip


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def fitted(*words: object, file: str = "study.csv") -> Path:
    result = run("fit", file, *QUICK, "--out", "out", "--force", *words)
    assert result.exit_code == 0, result.output
    return Path("out")


def refusal(*words: object, file: str = "study.csv") -> str:
    result = run("fit", file, *words)
    assert result.exit_code == 2, result.output
    assert re.fullmatch(r"tiewise: .*\n", result.stderr), result.stderr
    return result.stderr


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def parameters(out: Path) -> dict[str, float]:
    return {row["parameter"]: float(row["median"]) for row in table(out / "parameters.csv")}


# Every option, from the command to the tables.


def test_a_formula_speaks_of_the_columns_of_the_map():
    out = fitted("--areas", "wards.gpkg", "--formula", "deprivation + town", "--no-report")
    coefficients = {row["covariate"]: row for row in table(out / "coefficients.csv")}
    assert set(coefficients) == {"deprivation", "town[T.yes]"}
    spread = (1.5 * np.arange(ITEMS)).std()
    own = coefficients["deprivation"]
    assert float(own["per_sd"]) == pytest.approx(float(own["median"]) * spread)
    assert float(own["q2.5"]) <= float(own["median"]) <= float(own["q97.5"])
    assert float(own["above_0"]) > 0.5
    assert 0 < parameters(out)["explained"] < 1
    assert [row["deprivation"] for row in table(out / "covariates.csv")[:2]] == ["0.0", "1.5"]


@pytest.mark.slow
def test_a_table_of_items_gives_the_same_as_the_map():
    """The witness is the other way to say it."""
    inside = fitted("--areas", "wards.gpkg", "--formula", "deprivation", "--no-report")
    first = (inside / "coefficients.csv").read_bytes()
    words = ("--areas", "wards.gpkg", "--formula", "deprivation", "--covariates", "wards.csv")
    assert (fitted(*words, "--no-report") / "coefficients.csv").read_bytes() == first


@pytest.mark.slow
def test_the_first_of_a_pair_has_its_advantage_back():
    out = fitted("--order", "--no-report")
    assert parameters(out)["order"] > 0
    # Turned around, the same judgements have the opposite advantage.
    study = pd.read_csv("study.csv", dtype=str)
    turned = {"item_1_id": "item_2_id", "item_2_id": "item_1_id"}
    study.rename(columns=turned).to_csv("turned.csv", index=False)
    was, now = (
        parameters(out)["order"],
        parameters(fitted("--order", "--no-report", file="turned.csv")),
    )
    assert now["order"] == pytest.approx(-was, abs=0.1)


def test_groups_of_judges_are_a_column_of_the_judgements(grouped):
    contrasts = table(grouped / "contrasts.csv")
    assert len(contrasts) == ITEMS
    assert {(row["group"], row["against"]) for row in contrasts} == {("women", "men")}
    own = next(row for row in contrasts if row["item"] == "1")
    assert float(own["above_0"]) > 0.95
    assert float(own["q2.5"]) > 0
    for row in contrasts:
        above = float(row["above_0"])
        assert float(row["real"]) == pytest.approx(max(above, 1 - above))
    assert parameters(grouped)["contrast_variance"] > 0


def test_contrasts_are_those_of_the_posterior(grouped):
    """Centred over items and taken draw by draw, with xarray in place of our own arithmetic."""
    contrast = read_results(grouped).tree["posterior/contrast"]
    away = contrast.sel(group="women") - contrast.sel(group="men")
    away = away - away.mean("item")
    contrasts = {row["item"]: row for row in table(grouped / "contrasts.csv")}
    for item in away["item"].to_numpy().astype(str):
        own = away.sel(item=item)
        assert float(contrasts[item]["median"]) == pytest.approx(float(own.median()))
        assert float(contrasts[item]["above_0"]) == pytest.approx(float((own > 0).mean()))


@pytest.mark.slow
def test_groups_may_be_in_a_table_of_judges(grouped):
    first = (grouped / "contrasts.csv").read_bytes()
    judged(seed=5).drop(columns="sex").to_csv("plain.csv", index=False)
    words = ("--judge-groups", "sex", "--judges", "judges.csv", "--no-report")
    assert (fitted(*words, file="plain.csv") / "contrasts.csv").read_bytes() == first


def test_judges_whose_group_is_not_known_are_left_out_with_a_word():
    judges = pd.read_csv("judges.csv")
    judges.loc[judges["user_id"] == "j3", "sex"] = ""
    judges.to_csv("judges.csv", index=False)
    judged(seed=5).drop(columns="sex").to_csv("plain.csv", index=False)
    result = run("fit", "plain.csv", *QUICK, "--judge-groups", "sex", "--judges", "judges.csv",
                 "--out", "out", "--no-report")  # fmt: skip
    assert result.exit_code == 0
    assert "sex is not known of 'j3'" in result.stderr
    lost = int((judged(seed=5)["user_id"] == "j3").sum())
    assert f"{lost} judgements are left out" in result.stderr
    facts = json.loads(Path("out/fit.json").read_text(encoding="utf-8"))
    assert (facts["comparisons"], facts["judges"]) == (700 - lost, JUDGES - 1)


def teams() -> str:
    """A file of judgements by three teams."""
    study = judged(seed=5)
    study["team"] = [f"team {int(name[1:]) % 3}" for name in study["user_id"]]
    study.to_csv("teams.csv", index=False)
    return "teams.csv"


def test_more_than_two_groups_stand_against_their_mean():
    out = fitted("--judge-groups", "team", "--no-report", file=teams())
    rows = table(out / "contrasts.csv")
    assert len(rows) == 3 * ITEMS
    assert {row["against"] for row in rows} == {"the mean of all"}


@pytest.mark.slow
def test_more_than_two_groups_are_drawn():
    out = fitted("--judge-groups", "team", file=teams())
    assert (out / "pictures/difference.svg").exists()


@pytest.mark.slow
def test_a_second_file_is_a_second_wave():
    judged(seed=6, number=300).to_csv("earlier.csv", index=False)
    out = fitted("--waves", "study.csv", "--no-report", file="earlier.csv")
    rows = table(out / "contrasts.csv")
    assert {(row["group"], row["against"]) for row in rows} == {("study", "earlier")}
    facts = json.loads((out / "fit.json").read_text(encoding="utf-8"))
    assert facts["comparisons"] == 1000
    assert facts["terms"] == {"waves": "study.csv"}


def test_the_first_file_is_the_first_wave_whatever_it_is_called():
    judged(seed=6, number=300).to_csv("zero.csv", index=False)
    out = fitted("--waves", "study.csv", "--no-report", file="zero.csv")
    (kind,) = {(row["group"], row["against"]) for row in table(out / "contrasts.csv")}
    assert kind == ("2 (study)", "1 (zero)")


def test_a_column_may_say_which_wave():
    out = fitted("--waves", "year", "--sharpness", "--no-report")
    (kind,) = {(row["group"], row["against"]) for row in table(out / "contrasts.csv")}
    assert kind == ("2024", "2019")
    # A judge who came in both is told apart each time.
    terms = table(out / "judge-terms.csv")
    assert {(row["judge"], row["group"]) for row in terms} == {
        (f"j{k}, {year}", str(year)) for k in range(JUDGES) for year in (2019, 2024)
    }


@pytest.mark.slow
def test_who_guesses_is_the_least_sharp_and_who_ties_is_seen():
    out = fitted("--sharpness", "--thresholds", "--no-report")
    terms = {row["judge"]: row for row in table(out / "judge-terms.csv")}
    assert len(terms) == JUDGES
    assert min(terms, key=lambda name: float(terms[name]["sharpness"])) == "j0"
    assert max(terms, key=lambda name: float(terms[name]["threshold"])) == "j2"
    counted = (
        pd.read_csv("study.csv")
        .groupby("user_id")["state"]
        .agg(ties=lambda states: (states == "tied").sum(), comparisons="size")
    )
    for name, row in terms.items():
        assert int(row["comparisons"]) == counted["comparisons"][name]
        assert int(row["ties"]) == counted["ties"][name]
        threshold = float(row["threshold"])
        equal = (np.exp(threshold) - 1) / (np.exp(threshold) + 1)
        assert float(row["says_equal"]) == pytest.approx(equal)
    assert {"sharpness_sd", "threshold_sd"} <= set(parameters(out))


@pytest.mark.slow
def test_python_takes_the_same_words():
    out = fitted("--judge-groups", "sex", "--order", "--no-report")
    first = (out / "contrasts.csv").read_bytes()
    tw.analyse(
        "study.csv", "again", engine=tw.Transport(draws=600), rng=1, variance=tw.Fixed(1),
        judge_groups="sex", order=True, report=False,
    )  # fmt: skip
    assert Path("again/contrasts.csv").read_bytes() == first


def test_a_model_can_be_built_without_fitting():
    comparisons = tw.read_comparisons("study.csv")
    model = tw.build_model(comparisons, order=True, judge_groups="sex", sharpness=True)
    assert [type(term) for term in model.terms] == [tw.Order, tw.Groups, tw.Sharpness]
    assert model.counts.ordered
    assert len(model.counts.strata) == JUDGES


def test_without_terms_nothing_is_asked_for():
    comparisons = tw.read_comparisons("study.csv")
    model = tw.build_model(comparisons)
    assert model.terms == ()
    assert model.counts == comparisons.counts()


def test_strata_may_be_of_several_columns():
    comparisons = tw.read_comparisons("study.csv")
    counts = comparisons.counts(by=("judge", "year"))
    rows = pd.read_csv("study.csv")
    sizes = rows.groupby(["user_id", "year"]).size()
    assert set(counts.strata) == {f"{judge}, {year}" for judge, year in sizes.index}
    answers = counts.wins_first + counts.wins_second + counts.ties
    for (judge, year), size in sizes.items():
        own = counts.strata.index(f"{judge}, {year}")
        assert answers[counts.stratum == own].sum() == size
    assert counts.pooled() == comparisons.counts()
    assert comparisons.combinations("judge", "sex") == sorted(
        set(zip(rows["user_id"], rows["sex"], strict=True))
    )


def test_colours_of_chances_are_the_same_on_both_sides():
    """White from 40 to 60 %, and the same steps away from it either way."""
    from tiewise.geo.colours import UNKNOWN
    from tiewise.plots.group_maps import certainty_colour

    above = [certainty_colour(probability) for probability in (0.97, 0.85, 0.7, 0.5)]
    below = [certainty_colour(probability) for probability in (0.03, 0.15, 0.3, 0.5)]
    assert above[-1] == below[-1]
    assert len({*above, *below}) == 7
    assert certainty_colour(np.nan) == UNKNOWN


# A study of our own.


def test_a_sign_up_field_of_a_study_tells_groups(desk):
    from tiewise.study.study import Study

    made = run("new", "green", "--areas", "wards.gpkg", "--question", "Which is greener?")
    assert made.exit_code == 0, made.output
    with Path("green/study.toml").open("a", encoding="utf-8") as file:
        file.write('\n[[judges.fields]]\nname = "sex"\nlabel = "Sex"\nkind = "choice"\n')
        file.write('choices = ["women", "men"]\n')
    judged(seed=5).drop(columns="sex").to_csv("plain.csv", index=False)
    assert run("import", "green", "plain.csv").exit_code == 0
    store = Study.open("green").store()
    _tell(store, {row["user_id"]: row["sex"] for row in table(Path("judges.csv"))})
    store.close()
    result = run("fit", "green", *QUICK, "--judge-groups", "sex", "--prior", "independent",
                 "--no-report")  # fmt: skip
    assert result.exit_code == 0, result.output
    (kind,) = {(r["group"], r["against"]) for r in table(Path("green/results/contrasts.csv"))}
    assert kind == ("women", "men")


def _tell(store, sexes: dict[str, str]) -> None:
    """What judges would have said of themselves on signing up."""
    from tiewise.study.schema import signup_answers

    people = {row["id"] for row in store.judge_rows()}
    assert people == set(sexes)
    with store.engine.begin() as connection:
        rows = [{"judge": j, "field": "sex", "value": sex} for j, sex in sexes.items()]
        connection.execute(signup_answers.insert(), rows)


# What cannot be.


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--formula", "deprivation"], "--covariates"),
        (["--covariates", "wards.csv"], "--formula"),
        (["--formula", "wealth", "--covariates", "wards.csv"], "asks for 'wealth'"),
        (["--formula", "town +", "--covariates", "wards.csv"], "cannot be understood"),
        (["--formula", "deprivation", "--covariates", "short.csv"], "lack 1 item(s): '9'"),
        (["--formula", "deprivation", "--covariates", "judges.csv"], "no column of items"),
        (["--judge-groups", "age"], "no column 'age'"),
        (["--judge-groups", "selected_item_id", "--waves", "year"], "give one of them"),
        (["--judge-groups", "one"], "only 'x'"),
        (["--judge-groups", "many"], "700 different values"),
        (["--judge-groups", "year", "--sharpness"], "not the same throughout"),
        (["--judges", "judges.csv"], "--judge-groups"),
        (["--judges", "judges.csv", "--judge-groups", "age"], "no column 'age'"),
        (["--judges", "few.csv", "--judge-groups", "sex"], "lacks 'j7'"),
        (["--waves", "later.csv"], "no file of a second wave"),
        (["--thresholds", "--no-ties"], "has none"),
        (["--order", "--engine", "gibbs"], "gibbs cannot explore"),
        (["--sharpness", "--engine", "maximum-likelihood"], "cannot explore"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(words, why):
    judged(seed=5).assign(one="x", many=range(700)).to_csv("study.csv", index=False)
    pd.read_csv("wards.csv").head(ITEMS - 1).to_csv("short.csv", index=False)
    pd.read_csv("judges.csv").head(JUDGES - 1).to_csv("few.csv", index=False)
    assert why in refusal(*words)
    assert not Path("study-results").exists()


@pytest.mark.parametrize("option", ["--sharpness", "--thresholds"])
def test_judgements_without_judges_tell_none_apart(option):
    judged(seed=5).drop(columns="user_id").to_csv("nobody.csv", index=False)
    assert f"{option} tells judges apart" in refusal(option, file="nobody.csv")
    judged(seed=5).assign(user_id="j1").to_csv("one.csv", index=False)
    assert "one judge only" in refusal(option, file="one.csv")


def test_winners_and_losers_have_no_order():
    Path("won.csv").write_text("winner,loser\na,b\nb,a\na,c\n", encoding="utf-8")
    assert "leave out --order" in refusal("--order", file="won.csv")


def test_counts_have_no_columns_to_find_groups_in():
    counts = tw.read_comparisons("study.csv").counts()
    with pytest.raises(tw.InputError, match="give the comparisons themselves"):
        tw.build_model(counts, judge_groups="sex")
    with pytest.raises(tw.InputError, match="ordered"):
        tw.build_model(counts, order=True)


# The report.


@pytest.fixture
def everything(desk) -> Path:
    return fitted(
        "--areas", "wards.gpkg", "--formula", "deprivation", "--order", "--judge-groups", "sex",
        "--sharpness", "--thresholds", "--noun", "ward", "--higher", "higher risk",
    )  # fmt: skip


def test_every_term_has_its_section_figure_and_limits(everything):
    page = (everything / "report.html").read_text(encoding="utf-8")
    for key, title in {
        "covariates": "What goes with higher risk",
        "order": "Does it matter which one comes first?",
        "groups": "Where do “men” and “women” differ?", "judges": "How judges differ",
    }.items():  # fmt: skip
        assert f'<section id="{key}"' in page
        assert f'<a href="#{key}">' in page
        assert title in page
    assert "These are associations, not causes" in page
    assert page.count("What this does not mean:") == 4
    for name in ("coefficients", "difference", "difference-real", "judge-terms"):
        assert (everything / "pictures" / f"{name}.svg").stat().st_size > 0
    values = parameters(everything)
    for name, label in {"order": "κ", "contrast_variance": "ν²", "sharpness_sd": "τ"}.items():
        assert re.search(
            rf"{label}</th>\s*<td[^>]*>[^<]*</td>\s*<td[^>]*>{values[name]:.3f}<", page
        )
    assert "nan" not in re.sub(r"<script.*|<style.*?</style>|data:[^\"]*", "", page, flags=re.S)


@pytest.mark.slow
def test_the_report_can_be_made_again_without_fitting(everything):
    before = (everything / "report.html").read_bytes()
    tables = {path.name: path.read_bytes() for path in everything.glob("*.csv")}
    assert run("report", everything).exit_code == 0
    assert (everything / "report.html").read_bytes() == before
    assert {path.name: path.read_bytes() for path in everything.glob("*.csv")} == tables


@pytest.mark.slow
def test_the_command_in_the_report_gives_the_same_again(everything):
    page = (everything / "report.html").read_text(encoding="utf-8")
    command = html.unescape(re.search(r'<pre id="command"><code>(.*?)</code>', page, re.S)[1])
    words = shlex.split(command)[1:]
    for name in ("areas.gpkg", "covariates.csv"):
        Path(name).write_bytes((everything / name).read_bytes())
    result = run(*words, "--no-report")
    assert result.exit_code == 0, result.output
    for name in ("items.csv", "contrasts.csv", "coefficients.csv", "judge-terms.csv"):
        assert Path("again", name).read_bytes() == (everything / name).read_bytes()


@pytest.mark.slow
def test_a_plain_fit_over_one_with_terms_leaves_nothing_of_it(everything):
    fitted("--areas", "wards.gpkg")
    left = {path.name for path in everything.rglob("*") if path.is_file()}
    assert not left & {
        "coefficients.csv", "covariates.csv", "contrasts.csv", "judge-terms.csv",
        "coefficients.svg", "difference.svg", "difference-real.svg", "judge-terms.svg",
    }  # fmt: skip
    page = (everything / "report.html").read_text(encoding="utf-8")
    assert "What this does not mean" not in page
    assert "terms" not in json.loads((everything / "fit.json").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_names_that_look_like_markup_are_text():
    study = judged(seed=5)
    study["sex"] = study["sex"].replace("women", "<script>alert(1)</script>")
    study.to_csv("odd.csv", index=False)
    out = fitted("--judge-groups", "sex", file="odd.csv")
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page


@pytest.mark.slow
def test_the_terminal_says_what_terms_found():
    result = run("fit", "study.csv", *QUICK, "--order", "--judge-groups", "sex", "--no-report")
    assert "the first of a pair has an advantage" in " ".join(result.output.split())
    assert "correlation of" in " ".join(result.output.split())


# What favours the first, by a column.


def at_home() -> pd.DataFrame:
    """The same judgements, half of each judge's turned round: `home` says which one gains."""
    study = judged(seed=5).assign(home=1)
    odd = study.index // JUDGES % 2 == 1
    first, second = study["item_1_id"].copy(), study["item_2_id"].copy()
    study.loc[odd, "item_1_id"], study.loc[odd, "item_2_id"] = second[odd], first[odd]
    study.loc[odd, "home"] = -1
    return study


def test_an_advantage_that_changes_sides_is_found_where_it_is():
    """The witness is the same file with the favoured one always first, within Monte Carlo error."""
    at_home().to_csv("home.csv", index=False)
    rows = []
    for file, words in (("study.csv", ["--order"]), ("home.csv", ["--advantage", "home"])):
        out = fitted(*words, "--no-report", file=file)
        values = {row["parameter"]: row for row in table(out / "parameters.csv")}
        rows.append(next(row for name, row in values.items() if name.startswith("order")))
    assert "home" in rows[1]["parameter"]
    mean, sd, size = (np.array([float(r[k]) for r in rows]) for k in ("mean", "sd", "ess_bulk"))
    assert mean[1] > 0.4
    assert abs(mean[0] - mean[1]) < 4 * np.sqrt((sd**2 / size).sum())


@pytest.mark.slow
def test_being_first_and_being_at_home_are_told_apart():
    at_home().to_csv("home.csv", index=False)
    out = fitted("--order", "--advantage", "home", file="home.csv")
    values = {row["parameter"]: row for row in table(out / "parameters.csv")}
    home, first = (
        values[next(name for name in values if "home" in name)],
        values["order"],
    )
    assert float(home["q2.5"]) > 0
    assert float(first["q2.5"]) < 0 < float(first["q97.5"])
    assert "more home favours the first of a pair" in (out / "report.html").read_text("utf-8")
    facts = {row["advantage"]: row for row in table(out / "advantages.csv")}
    assert set(facts) == {"first", "home"}
    assert facts["home"]["median"] == home["median"]


def test_an_advantage_is_a_number_that_varies():
    gaps = np.where(np.arange(len(at_home())) == 6, "", "1")
    at_home().assign(where="away", same=1, gaps=gaps, far="inf").to_csv("home.csv", index=False)
    names = ("where", "same", "gaps", "far", "nowhere")
    refused = {name: refusal("--advantage", name, file="home.csv") for name in names}
    assert "where is 'away', which is no number" in refused["where"]
    assert "same for every comparison" in refused["same"]
    assert "--order" in refused["same"]
    assert "row 7: gaps is empty" in refused["gaps"]
    assert "far is inf" in refused["far"]
    assert "no column 'nowhere'; there are user_id" in refused["nowhere"]
    assert "row 9: log(home) is no number" in refusal("--advantage", "log(home)", file="home.csv")
    assert "repeat each other" in refusal("--advantage", "home + I(2 * home)", file="home.csv")


@pytest.mark.slow
def test_an_advantage_goes_together_with_groups_and_judges():
    at_home().to_csv("home.csv", index=False)
    words = ("--advantage", "home", "--judge-groups", "sex", "--sharpness", "--thresholds")
    out = fitted(*words, "--no-report", file="home.csv")
    assert parameters(out)["order: home"] > 0
    assert {"contrasts.csv", "judge-terms.csv"} <= {path.name for path in out.iterdir()}


# Kinds of judges.


def test_terms_of_groups_go_from_the_command_to_the_report():
    """Groups with a sharpness, threshold and side of their own, and the lines that repeat it."""
    options = ("--sharpness", "--thresholds", "--order")
    words = [word for option in options for word in (option, "by-group")]
    result = run("fit", "study.csv", *QUICK, "--out", "kinds", "--judge-groups", "sex", *words,
                 "--no-report")  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "One answer of" in result.output
    results = read_results("kinds")
    for option in options:
        assert f"{option} by-group" in fit_command(results)
        assert f"{option[2:]}='by-group'" in python_call(results)
    groups, judges = group_section(results), judge_section(results)
    board, kinds = (next(b for b in s.blocks if isinstance(b, DataTable)) for s in (groups, judges))
    assert groups.link == "Groups of judges"
    assert list(board.head)[1:] == ["All", "men", "women"]
    assert len(board.rows) == ITEMS
    assert any("repeat their errors" in text for text in judge_sentences(results))
    # One group is the unit of sharpness, and one that of an answer's worth.
    assert [sum(row[k] == "1" for row in kinds.rows) for k in (2, 3)] == [1, 1]


@pytest.mark.parametrize("name", ["order", "sharpness", "thresholds"])
def test_flags_of_terms_stand_alone_before_any_word(name):
    """What follows a flag is its value only where it is `by-group`."""
    for words, value in (
        ([f"--{name}", "study.csv"], True),
        (["study.csv", f"--{name}"], True),
        ([f"--{name}", "by-group", "study.csv"], "by-group"),
        (["study.csv", f"--{name}=by-group"], "by-group"),
        (["--", "study.csv"], False),
    ):
        parsed = main.commands["fit"].make_context("fit", words).params
        assert (parsed["file"], parsed[name]) == ("study.csv", value)
    refused = run("fit", f"--{name}=by-town", "study.csv")
    assert refused.exit_code == 2
    assert "by-group" in refused.output
