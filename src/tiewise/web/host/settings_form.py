"""The form of all settings of a study, made from what `study.toml` may hold."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, get_type_hints

from tiewise.study.settings import Settings
from tiewise.web.host.settings_fields.fields import (
    TICKS,
    VALUES,
    SettingField,
    SettingTable,
    fields_of,
    value_of,
)
from tiewise.web.host.settings_fields.languages import language_tables
from tiewise.web.host.settings_fields.lists import LISTS, rows_of, too_many
from tiewise.web.host.settings_fields.words import TITLES
from tiewise.web.request import Form


def setting_tables(settings: Settings) -> list[SettingTable]:
    """All tables of the file, with the values that hold now."""
    return [*(_table(settings, name) for name in TITLES), *language_tables(settings)]


def _table(settings: Settings, name: str) -> SettingTable:
    single = hasattr(get_type_hints(Settings)[name], "__dataclass_fields__")
    fields = tuple(fields_of(name, getattr(settings, name))) if single else ()
    listed = next((one for one in LISTS if one.partition(".")[0] == name), None)
    if listed is None:
        return SettingTable(name, TITLES[name], fields)
    entries = attrgetter(listed)(settings)
    return SettingTable(name, TITLES[name], fields, rows_of(listed, entries), too_many(entries))


def changed_values(settings: Settings, form: Form) -> tuple[dict[str, Any], list[str]]:
    """What a form changes, as values by key; and what is wrong with single fields."""
    values: dict[str, Any] = {}
    faults = []
    for table in setting_tables(settings):
        for one in table.all_fields():
            text = _sent(one, form)
            if text == one.value:
                continue
            try:
                values[one.key.removesuffix(".remove")] = _value(one, text)
            except ValueError:
                faults.append(f"{one.place}: {text[:40]!r} is no {VALUES.get(one.kind, 'value')}")
    return _without_parts_of_removed(values), faults


def _value(one: SettingField, text: str) -> Any:
    if one.key.startswith("translations.") and not text.strip():
        return None
    return value_of(one.kind, text)


def _without_parts_of_removed(values: dict[str, Any]) -> dict[str, Any]:
    """Without what was changed in an entry, or in answers of its own, that are taken out."""
    gone = tuple(f"{key}." for key, value in values.items() if value is None)
    return {key: value for key, value in values.items() if not (gone and key.startswith(gone))}


def filled_in(tables: list[SettingTable], form: Form) -> list[SettingTable]:
    """The tables with what was sent, so that nothing is lost where something is refused."""

    def filled(fields: tuple[SettingField, ...]) -> tuple[SettingField, ...]:
        return tuple(one._replace(value=_sent(one, form)) for one in fields)

    return [
        table._replace(
            fields=filled(table.fields),
            rows=tuple(
                row._replace(fields=filled(row.fields), more=filled(row.more)) for row in table.rows
            ),
        )
        for table in tables
    ]


def _sent(one: SettingField, form: Form) -> str:
    if one.kind in TICKS:
        return "yes" if form.get(one.key) else ""
    return form.get(one.key).replace("\r\n", "\n").strip("\n" if one.kind == "long" else None)
