#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Who writes the fields of the core's shared structs, asked of the compiler.

usage: writers.py ROOT CC... [--show]    (CC: gcc; --show: who writes what today, in the form of the table)

In the preprocessed text of every source file of the core each field of a struct of the table becomes const, and gcc is
asked what is wrong with it: an assignment, a pointer to a field that is not const, a struct that is written whole. That
place is a write, of the file (or header) where it stands. Handing a field's address to a function that the field's owner
declares is the owner's doing; offsetof(), by which rings and tables find a field, counts as a write. What goes through
void pointers, as memset() of a whole object, is not seen.

The table of the tree, tests/lint/writers.txt: `STRUCT FIELD...: MODULE...`, and behind ` -- ` the reason if there are
several modules. A module is a .c file and the header of its name, below firmware/. Every field of the structs that the
table names has one row; one of several modules that does not write is taken off."""
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

ROW = re.compile(r"(\w+) ([\w* ]+): ([\w/ ]+?)(?: -- (\S.*))?")
NOT_CORE = ("nofd", "port")
OFFSET = re.compile(r"\boffsetof\(struct (\w+), (\w+)\)")
NAMED = re.compile(r"(?:member|location|object) [‘'](.*?)[’']")
WHOLE = "*"
FLAGS = ("-std=c11", "-fsyntax-only", "-fpreprocessed", "-fdiagnostics-format=json", "-fmax-errors=0",
         "-x", "cpp-output")


def read_table(path):
    """{(struct, field): ([module], line)}, and complaints."""
    rows, wrong = {}, []
    for number, line in enumerate(path.read_text().split("\n"), 1):
        if not line or line.startswith("#"):
            continue
        found = ROW.fullmatch(line)
        if not found:
            wrong.append(f"{path.name}:{number}: neither `STRUCT FIELD...: MODULE...` nor a comment")
            continue
        modules = found[3].split()
        if len(modules) > 1 and not found[4]:
            wrong.append(f"{path.name}:{number}: several modules, and no reason behind ` -- `")
        for field in found[2].split():
            if (found[1], field) in rows:
                wrong.append(f"{path.name}:{number}: {found[1]}.{field} has an owner already")
            rows[found[1], field] = (modules, number)
    return rows, wrong


def body_of(text, struct):
    """(first, behind last) of what is between the braces of the struct's definition, or None."""
    begin = re.search(rf"^struct {struct} \{{", text, re.M)
    if not begin:
        return None
    depth = 1
    for at in range(begin.end(), len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return begin.end(), at
    return None


def members(body):
    """(first, behind last) of each declaration of fields, those of unions and structs without a name among them."""
    first = 0
    for found in re.finditer(r"[;{}]|^#.*$", body, re.M):
        if found[0] == ";" and body[first:found.start()].strip():
            yield first, found.start()
        first = found.end()


def names(declaration):
    return [re.match(r"[*\s]*(?:\w+\s+)*?[*\s]*(\w+)\s*(?:\[.*|:.*)?$", part.strip(), re.S)[1]
            for part in re.sub(r"\[[^]]*\]", "", declaration).split(",")]


def fields_of(text, struct):
    span = body_of(text, struct)
    body = text[slice(*span)] if span else ""
    return [name for first, last in members(body) for name in names(body[first:last])]


def made_const(text, struct):
    begin, end = body_of(text, struct)
    body, made, done = text[begin:end], [], 0
    for first, last in members(body):
        declaration = body[first:last]
        pointer = "*" in declaration
        at = first + (declaration.rindex("*") + 1 if pointer else len(declaration) - len(declaration.lstrip()))
        made += [body[done:at], " const "]
        done = at
    return text[:begin] + "".join(made) + body[done:] + text[end:]


def chains(expression):
    """Of each chain in the expression the fields behind its last pointer, such as a and b of `x[i.y]->p->a.b`. Where
    addresses are taken, of those alone."""
    flat = expression
    while (less := re.sub(r"\([^()&]*\)|\[[^][]*\]", "", flat)) != flat:
        flat = less
    runs = re.findall(r"&\s*\w+((?:(?:->|\.)\s*\w+)+)", flat) or re.findall(r"(?:(?:->|\.)\s*\w+)+", flat)
    return [re.findall(r"\w+", run.rpartition("->")[2]) for run in runs]


def ends_before(text):
    """The chain at the end of the text, from whose middle its brackets may come."""
    at = len(text)
    while at > 0:
        if text[at - 1] in ")]":
            depth = 0
            while at > 0 and (depth := depth + (text[at - 1] in ")]") - (text[at - 1] in "([")) > 0:
                at -= 1
            at -= 1
        elif re.search(r"(?:\w|\.|->)$", text[:at]):
            at -= 2 if text[:at].endswith("->") else 1
        else:
            break
    return text[max(at, 0):]


class Place:
    """Where in a source file a diagnostic is."""

    def __init__(self, root, location):
        caret, self.last = location["caret"], location.get("finish")
        self.first = location.get("start", caret)
        self.path = pathlib.Path(os.path.normpath(root / caret["file"]))
        self.line, self.at = caret["line"], caret["byte-column"] - 1
        self.lines = self.path.read_text().split("\n")

    def changed(self):
        """What the operator at the caret changes."""
        line = self.lines[self.line - 1]
        before, after = line[:self.at].strip(), line[self.at:]
        if re.match(r"\+\+|--", after) and not re.search(r"[\w)\]]$", before):
            return re.match(r"[\w.()\[\]]*(?:->[\w.()\[\]]*)*", after[2:])[0]
        return ends_before(before)

    def handed_on(self):
        """The expression that is there; without a range, what is behind the last = as far as the caret."""
        if self.last:
            lines = self.lines[self.first["line"] - 1:self.last["line"]]
            lines[-1] = lines[-1][:self.last["byte-column"]]
            lines[0] = lines[0][self.first["byte-column"] - 1:]
            return " ".join(lines)
        line = self.lines[self.line - 1]
        begin = line.rfind("=", 0, self.at + 1) + 1
        return re.match(r"[^;]*", line[begin:] + " ".join(self.lines[self.line:self.line + 8]))[0]


def writes_of(root, diagnostics, struct, fields):
    """(field, path, line, path of who declares the function that is handed the field's address or None)."""
    for said in diagnostics:
        place = Place(root, said["locations"][0])
        if "read-only" in said["message"]:
            named = NAMED.search(said["message"])[1]  # of a bit-field the caret stands elsewhere
            found = [name for run in chains(place.changed()) + chains(named) for name in run if name in fields]
            yield found[0] if found else WHOLE, place.path, place.line, None
        elif "qualifier" in said["message"]:
            declared = [Place(root, child["locations"][0]).path for child in said.get("children", ())
                        if "expected" in child["message"]]
            for name in {name for run in chains(place.handed_on()) for name in run[:1] if name in fields}:
                yield name, place.path, place.line, declared[0] if declared else None
        else:
            sys.exit(f"{place.path}:{place.line}: with const {struct}: {said['message']}")


def ask(compiler, root, path, structs):
    """(struct, field, path, line, declared) of all that this file writes, headers included; {struct: [field]}."""
    include = [f"-I{root / folder}" for folder in ("include", "firmware", "")]
    text = subprocess.run([*compiler, "-E", "-std=c11", *include, path], capture_output=True, text=True,
                          check=True).stdout
    seen = {struct: fields_of(text, struct) for struct in structs if body_of(text, struct)}
    found = []
    for struct, fields in seen.items():
        said = subprocess.run([*compiler, *FLAGS, "-"], input=made_const(text, struct), capture_output=True, text=True,
                              env={**os.environ, "LC_ALL": "C"})
        diagnostics = json.loads(said.stderr.split("\n")[0] or "[]")
        found += [(struct, *write) for write in writes_of(root, diagnostics, struct, set(fields))]
    return found, seen


def module_of(root, path):
    return path.relative_to(root / "firmware").with_suffix("").as_posix()


def sources(root):
    for path in sorted((root / "firmware").rglob("*.[ch]")):
        if path.relative_to(root / "firmware").parts[0] not in NOT_CORE:
            yield path


def survey(root, compiler, structs):
    """{(struct, field): {module: [(path, line)]}}, {struct: [field]}"""
    writers, fields = collections.defaultdict(lambda: collections.defaultdict(set)), {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        files = [path for path in sources(root) if path.suffix == ".c"]
        for found, seen in pool.map(lambda path: ask(compiler, root, path, structs), files):
            fields |= seen
            for struct, field, path, line, declared in found:
                owner = module_of(root, declared) if declared and declared.is_relative_to(root / "firmware") else None
                writers[struct, field][module_of(root, path)].add((path, line, owner))
    for path in sources(root):
        for number, line in enumerate(path.read_text().split("\n"), 1):
            for struct, field in OFFSET.findall(line):
                if struct in structs:
                    writers[struct, field][module_of(root, path)].add((path, number, None))
    return writers, fields


def complaints(root, rows, writers, fields):
    for struct in sorted({struct for struct, _ in rows}):
        for field in sorted(set(fields.get(struct, ())) - {field for of, field in rows if of == struct}):
            yield f"{struct}.{field} has no owner in the table"
    for (struct, field), (modules, number) in sorted(rows.items()):
        if field != WHOLE and field not in fields.get(struct, ()):
            yield f"writers.txt:{number}: there is no {struct}.{field}"
    for (struct, field), by in sorted(writers.items()):
        allowed = rows.get((struct, field), ([], 0))[0]
        for module in sorted(set(by) - set(allowed)):
            for path, line, owner in sorted(by[module], key=str):
                if owner not in allowed:
                    whose = " and ".join(allowed) or "nobody"
                    yield f"{path.relative_to(root)}:{line}: writes {struct}.{field}, which is {whose}'s"
    for (struct, field), (modules, number) in sorted(rows.items()):
        reached = {owner for places in writers.get((struct, field), {}).values() for _, _, owner in places}
        for module in modules:
            if len(modules) > 1 and module not in writers.get((struct, field), ()) and module not in reached:
                yield f"writers.txt:{number}: {module} does not write {struct}.{field}; take it off"


def show(rows, writers, fields):
    for struct, found in fields.items():
        for field in [WHOLE, *found]:
            print(f"{struct} {field}: {' '.join(sorted(writers.get((struct, field), ())))}")


def main():
    if not sys.argv[2:] or {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        sys.exit(0 if {"-h", "--help"} & set(sys.argv[1:]) else 2)
    given = [word for word in sys.argv[1:] if word != "--show"]
    root, compiler = pathlib.Path(given[0]).resolve(), [word for word in given[1:] if not word.endswith("ccache")]
    table = root / "tests/lint/writers.txt"
    rows, wrong = read_table(table)
    writers, fields = survey(root, compiler, sorted({struct for struct, _ in rows}))
    if "--show" in sys.argv:
        show(rows, writers, fields)
        return
    wrong += complaints(root, rows, writers, fields)
    if not fields:
        wrong.append("no struct of the table was found")
    print("\n".join(wrong), end="\n" if wrong else "")
    sys.exit(1 if wrong else 0)


main()
