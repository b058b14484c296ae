# SPDX-License-Identifier: BSD-3-Clause
"""Calls through function pointers, read from the sources: who calls whom where a symbol table shows nothing.

A slot is a place that holds a function's address: a field of a struct ("nof_transport_ops.on_frame"), a parameter
("nof_handle_each(visit)") or a variable ("close.c:step"). Addresses reach a slot by an assignment, an initializer, or as an
argument; from a slot they flow on into others. What is parsed is C as we write it, token by token, with just enough of types
to tell whose field `a->b.c` is; what the macros of a file do is not seen.

    tree = pointers.Tree(root, [paths]); tree.calls() -> [(file, line, slot)]; tree.targets(slot) -> {(file, function)}"""
import collections
import re

TOKEN = re.compile(r"""(?P<skip>/\*.*?\*/|//[^\n]*|^[ \t]*\#(?:[^\n\\]|\\.)*|\s+)
                     |(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
                     |(?P<word>[A-Za-z_]\w*|\.?\d[\w.]*)
                     |(?P<mark>->|\.\.\.|[=!<>]=|&&|\|\||[-+*/|&^%]=|<<=?|>>=?|.)""", re.S | re.M | re.X)
KEYWORDS = {"if", "for", "while", "switch", "return", "sizeof", "do", "else", "case", "goto", "static_assert", "alignof"}
CLOSING = {"(": ")", "[": "]", "{": "}"}
OUTSIDE = ("", "whoever uses the installed contract")


def tokens_of(text):
    """(word, line number) of everything but comments, directives and what strings say."""
    found, line = [], 1
    for match in TOKEN.finditer(text):
        if match.lastgroup != "skip":
            found.append(('""' if match.lastgroup == "text" else match[0], line))
        line += match[0].count("\n")
    return found


def is_name(word):
    return word[:1].isalpha() or word[:1] == "_"


class Function:
    def __init__(self, path, name, static, parameters, returns, body):
        self.path, self.name, self.static = path, name, static
        self.parameters = parameters  # [(name, type)]
        self.returns = returns
        self.body = body  # (first, last) token of the braces
        self.types = {name: kind for name, kind in parameters if name}


class Tree:
    """Types are None, ("fn",) or ("struct", name, is_array)."""

    def __init__(self, root, paths, is_open=lambda function: False):
        self.words, self.lines, self.pairs = {}, {}, {}
        self.structs = collections.defaultdict(dict)  # name -> {field: type}, in order
        self.function_types = set()
        self.functions = {}  # name -> Function, and (path, name) -> Function of a static one
        self.variables = {}  # name, and (path, name) -> type
        self.inflow = collections.defaultdict(set)  # slot -> {("fn", path, name) | ("slot", slot)}
        self.found_calls, self.unsure = [], []
        self.is_open = is_open
        for path in paths:
            self.read(path, (root / path).read_text(encoding="utf-8", errors="replace"))
        for path in self.words:
            self.find_function_types(path)
        for path in self.words:
            self.find_declarations(path)
        for function in set(self.functions.values()):
            self.find_locals(function)
        for path in self.words:
            self.follow(path)

    def read(self, path, text):
        found = tokens_of(text)
        words = self.words[path] = [word for word, _ in found]
        self.lines[path] = [line for _, line in found]
        pairs, stack = {}, []
        for at, word in enumerate(words):
            if word in CLOSING:
                stack.append(at)
            elif word in CLOSING.values() and stack:
                begin = stack.pop()
                pairs[begin], pairs[at] = at, begin
        self.pairs[path] = pairs

    def split(self, path, begin, end, mark=","):
        """(first, behind last) of the parts of words[begin:end] between marks outside brackets."""
        words, pairs, at, first = self.words[path], self.pairs[path], begin, begin
        while at < end:
            if words[at] in CLOSING:
                at = pairs.get(at, end)
            elif words[at] == mark:
                yield first, at
                first = at + 1
            at += 1
        if first < end:
            yield first, end

    def find_function_types(self, path):
        words, pairs = self.words[path], self.pairs[path]
        for at, word in enumerate(words):
            if word != "typedef":
                continue
            end = at
            while end < len(words) and words[end] != ";":
                end = pairs[end] + 1 if words[end] in CLOSING and end in pairs else end + 1
            if words[end - 1] != ")":
                continue
            name = pairs[end - 1] - 1
            name -= words[name] == ")"
            if is_name(words[name]):
                self.function_types.add(words[name])

    def declared(self, path, begin, end, outer=""):
        """[(name, type)] of one declaration without its initializer."""
        words, pairs = self.words[path], self.pairs[path]
        at = begin
        while at < end:
            if words[at] in ("struct", "union") and at + 1 < end:
                named = is_name(words[at + 1])
                body = at + 1 + named
                name = words[at + 1] if named else f"{outer}.{self.lines[path][at]}"
                if body < end and words[body] == "{":
                    self.struct_body(path, name, body)
                    rest = self.declarators(path, pairs[body] + 1, end, ("struct", name))
                    return rest or ([(None, ("struct", name, False))] if not named else [])
                return self.declarators(path, body, end, ("struct", name))
            if words[at] == "(" and at + 2 < end and words[at + 1] == "*":
                name = at + 2 + (words[at + 2] == "const")
                return [(words[name], ("fn",))] if words[pairs[at] + 1:pairs[at] + 2] == ["("] else []
            if words[at] in self.function_types and at + 1 < end:
                return self.declarators(path, at + 1, end, ("fn",))
            if words[at] in CLOSING:
                at = pairs[at]
            at += 1
        return []

    def declarators(self, path, begin, end, kind):
        words, found = self.words[path], []
        for first, last in self.split(path, begin, end):
            at = first
            while at < last and words[at] in ("*", "const", "restrict", "volatile"):
                at += 1
            if at < last and words[at] == "(" and words[at + 1] == "*":  # returns a struct: a pointer to a function
                found.append((words[at + 2], ("fn",)))
            elif at < last and is_name(words[at]) and words[at + 1:at + 2] != ["("]:
                array = at + 1 < last and words[at + 1] == "["
                found.append((words[at], kind if kind == ("fn",) else (*kind, array)))
        return found

    def struct_body(self, path, name, brace):
        fields = self.structs[name]
        for first, last in self.split(path, brace + 1, self.pairs[path][brace], ";"):
            found = self.declared(path, first, last, name)
            for field, kind in found:
                if field is None:  # without a name: its fields are ours
                    fields.update(self.structs[kind[1]])
                else:
                    fields[field] = kind
            if not found:
                for part_first, part_last in self.split(path, first, last):
                    plain = [w for w in self.words[path][part_first:part_last] if is_name(w)]
                    if plain:
                        fields[plain[-1]] = None

    def find_declarations(self, path):
        words, pairs, at = self.words[path], self.pairs[path], 0
        begin = 0
        while at < len(words):
            if words[at] == ";":
                self.file_scope(path, begin, at)
                begin = at + 1
            elif words[at] == "{" and at > begin and words[at - 1] == ")":
                self.function(path, begin, at)
                at = pairs.get(at, len(words))
                begin = at + 1
            elif words[at] in CLOSING:
                at = pairs.get(at, len(words))
            at += 1

    def file_scope(self, path, begin, end):
        words = self.words[path]
        if begin == end or words[begin] == "typedef" and words[begin + 1] not in ("struct", "union"):
            return
        stop = next((first for first in range(begin, end) if words[first] == "="), end)
        static = "static" in words[begin:stop]
        for name, kind in self.declared(path, begin, stop):
            if name:
                self.variables[(path, name) if static else name] = kind

    def function(self, path, begin, brace):
        words, pairs = self.words[path], self.pairs[path]
        opening = pairs[brace - 1]
        name = words[opening - 1]
        if not is_name(name) or name in KEYWORDS:
            return
        parameters = []
        for first, last in self.split(path, opening + 1, brace - 1):
            found = self.declared(path, first, last)
            parameters.append(found[0] if found else (words[last - 1], None))
        returned = [word for at, word in enumerate(words[begin:opening], begin) if words[at - 1] == "struct"]
        made = Function(path, name, "static" in words[begin:opening], parameters,
                        ("struct", returned[0], False) if returned else None, (brace, pairs[brace]))
        if made.static and not path.endswith(".h"):
            self.functions[path, name] = made
        else:
            self.functions[name] = made

    def find_locals(self, function):
        path, (first, last) = function.path, function.body
        words = self.words[path]
        for at in range(first, last):
            begins = words[at] in ("struct", "union") or words[at] in self.function_types
            pointer = words[at] == "(" and words[at + 1] == "*" and is_name(words[at - 1]) and \
                words[at - 1] not in KEYWORDS and words[self.pairs[path].get(at, at) + 1] == "("
            if not begins and not pointer or words[at - 1] == "(" and words[at - 2] != "for":
                continue
            end = at
            while end < last and words[end] not in (";", "="):
                end = self.pairs[path][end] + 1 if words[end] in CLOSING else end + 1
            for name, kind in self.declared(path, at, end):
                if name:
                    function.types.setdefault(name, kind)

    def lookup(self, table, path, name):
        return table.get((path, name)) or table.get(name)

    def type_at(self, path, at, function):
        """Type of the expression that ends with words[at]."""
        words, pairs = self.words[path], self.pairs[path]
        while words[at] == "]":
            at = pairs[at] - 1
        if words[at] == ")":
            begin = pairs[at]
            if is_name(words[begin - 1]) and words[begin - 1] not in KEYWORDS:
                called = self.lookup(self.functions, path, words[begin - 1])
                return called.returns if called else None
            cast = words[begin + 1:at]
            if cast[:1] == ["("]:
                cast = cast[1:]
            if "struct" in cast[:2]:
                return ("struct", cast[cast.index("struct") + 1], False)
            return self.type_at(path, at - 1, function) if at - 1 > begin else None
        if not is_name(words[at]):
            return None
        if words[at - 1] in ("->", "."):
            owner = self.type_at(path, at - 2, function)
            return self.structs[owner[1]].get(words[at]) if owner and owner[0] == "struct" else None
        if function and words[at] in function.types:
            return function.types[words[at]]
        return self.lookup(self.variables, path, words[at])

    def slot_at(self, path, at, function):
        """The slot that words[at] names, or None."""
        words = self.words[path]
        while words[at] == "]":
            at = self.pairs[path][at] - 1
        name = words[at]
        if not is_name(name):
            return None
        if words[at - 1] in ("->", "."):
            if words[at - 2] in ("{", ",", "("):
                return None  # a designator: initializer() sees to it
            owner = self.type_at(path, at - 2, function)
            if owner and owner[0] == "struct":
                return f"{owner[1]}.{name}" if self.structs[owner[1]].get(name) == ("fn",) else None
            owners = [struct for struct, fields in self.structs.items() if fields.get(name) == ("fn",)]
            if len(owners) == 1:
                return f"{owners[0]}.{name}"
            if owners:
                self.unsure.append((path, self.lines[path][at], name))
            return None
        if function and name in function.types:
            if function.types[name] != ("fn",):
                return None
            parameter = name in (p for p, _ in function.parameters)
            return self.parameter_slot(function, name) if parameter else f"{path}:{function.name}:{name}"
        if self.lookup(self.variables, path, name) == ("fn",):
            return f"{path}:{name}" if (path, name) in self.variables else name
        return None

    def parameter_slot(self, function, name):
        return f"{function.path + ':' if function.static else ''}{function.name}({name})"

    def values(self, path, begin, end, function, slot):
        """What words[begin:end] may be the address of flows into the slot."""
        words, at = self.words[path], begin
        while at < end:
            word = words[at]
            if is_name(word) and words[at + 1:at + 2] == ["("]:
                at = self.pairs[path][at + 1]  # a call: what it returns is not followed
            elif is_name(word) and words[at - 1] not in ("->", "."):
                local = function and word in function.types
                known = None if local else self.lookup(self.functions, path, word)
                if known:
                    # An inline function has no address but in the file that takes it.
                    self.inflow[slot].add(("fn", path if known.path.endswith(".h") else known.path, known.name))
            if is_name(word) and (other := self.slot_at(path, at, function)) and other != slot:
                self.inflow[slot].add(("slot", other))
            at += 1

    def initializer(self, path, brace, kind, function, slot=None):
        """A { ... } of this type; slot: of an array of functions."""
        words, pairs, position = self.words[path], self.pairs[path], 0
        names = list(self.structs[kind[1]]) if kind and kind[0] == "struct" else []
        for first, last in self.split(path, brace + 1, pairs[brace]):
            inner, field, at = kind, None, first
            if kind == ("fn",):
                self.values(path, first, last, function, slot)
                continue
            if kind and kind[2]:
                inner = kind[:2] + (False,)
                at = pairs[first] + 2 if words[first] == "[" else first
            elif kind:
                if words[first] == "." and is_name(words[first + 1]):
                    field = words[first + 1]
                    at = next((a for a in range(first, last) if words[a] == "="), last - 1) + 1
                    position = names.index(field) if field in names else position
                elif position < len(names):
                    field = names[position]
                position += 1
                inner = self.structs[kind[1]].get(field)
            if at >= last or not inner:
                continue
            if words[at] == "{":
                self.initializer(path, at, inner, function, f"{kind[1]}.{field}" if inner == ("fn",) else None)
            elif inner == ("fn",):
                self.values(path, at, last, function, f"{kind[1]}.{field}")

    def follow(self, path):
        words, pairs = self.words[path], self.pairs[path]
        inside = {}
        for key, function in self.functions.items():
            if function.path == path:
                for at in range(function.body[0], function.body[1]):
                    inside[at] = function
                if self.is_open(function):
                    for name, kind in function.parameters:
                        if kind == ("fn",):
                            self.inflow[self.parameter_slot(function, name)].add(("fn", *OUTSIDE))
        for at, word in enumerate(words):
            function = inside.get(at)
            if word == "=" and at > 1:
                self.assignment(path, at, function)
            elif word == "{" and words[at - 1] == ")" and at - 1 in pairs:
                cast = words[pairs[at - 1] + 1:at - 1]
                if "struct" in cast[:2]:
                    name = cast[cast.index("struct") + 1]
                    self.initializer(path, at, ("struct", name, "[" in cast), function)
            elif word == "(" and at > 0:
                self.call(path, at, function)

    def assignment(self, path, at, function):
        words, pairs = self.words[path], self.pairs[path]
        left = at - 1
        if words[left] == ")":  # void (*fn)(int) = ...
            begin = pairs[left]
            left = begin - 2 if words[begin - 1] == ")" else left
        slot = self.slot_at(path, left, function)
        if words[at + 1:at + 2] == ["{"]:
            self.initializer(path, at + 1, self.type_at(path, left, function), function, slot)
        elif slot:
            end = at + 1
            while end < len(words) and words[end] not in (";", ",", ")", "}"):
                end = pairs[end] + 1 if words[end] in CLOSING else end + 1
            self.values(path, at + 1, end, function, slot)

    def call(self, path, at, function):
        words, pairs = self.words[path], self.pairs[path]
        before = at - 1
        if words[before] == ")" and words[pairs.get(before, 0) + 1] == "*" and not is_name(words[pairs[before] - 1]):
            before -= 1  # (*a->b)(...)
        if not function or not is_name(words[before]) and words[before] != "]" or words[before] in KEYWORDS:
            return
        begin = before if is_name(words[before]) else pairs[before] - 1
        declares = is_name(words[begin - 1]) and words[begin - 1] not in KEYWORDS
        slot = None if declares else self.slot_at(path, before, function)
        if slot:
            self.found_calls.append((function, self.lines[path][at], slot))
        called = self.lookup(self.functions, path, words[before]) if words[before - 1] not in ("->", ".") else None
        if called and at in pairs:
            for (first, last), (name, kind) in zip(self.split(path, at + 1, pairs[at]), called.parameters):
                if kind == ("fn",):
                    self.values(path, first, last, function, self.parameter_slot(called, name))

    def targets(self, slot):
        """{(file, function)} that the slot may hold."""
        found, todo, seen = set(), [slot], {slot}
        while todo:
            for kind, *what in self.inflow[todo.pop()]:
                if kind == "fn":
                    found.add(tuple(what))
                elif what[0] not in seen:
                    seen.add(what[0])
                    todo.append(what[0])
        return found

    def users_of(self, function):
        """Source files whose code a function is in: its own, or all that use an inline one of a header."""
        if not function.path.endswith(".h"):
            return {function.path}
        users, todo, seen = set(), [function.name], {function.name}
        while todo:
            name = todo.pop()
            for path, words in self.words.items():
                if name not in words:
                    continue
                if not path.endswith(".h"):
                    users.add(path)
                    continue
                for other in set(self.functions.values()):
                    if other.path == path and other.name not in seen and name in words[slice(*other.body)]:
                        seen.add(other.name)
                        todo.append(other.name)
        return users

    def calls(self):
        """(file, line of the call, slot)."""
        for function, line, slot in self.found_calls:
            for user in self.users_of(function):
                yield user, line, slot
