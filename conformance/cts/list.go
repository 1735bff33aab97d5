package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// entry is one line of a list: a pattern and, in the lists of exceptions, why it stands there.
type entry struct {
	pattern, reason string
	file            string
	line            int
}

// readList reads a list: a pattern a line, then, if reasons is set, white space and "# reason". Empty lines and
// lines that begin with # are skipped. The error names every malformed line, one a line, as file:line.
func readList(path string, reasons bool) ([]entry, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var (
		list  []entry
		errs  []error
		lines = map[string]int{}
	)
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		e, problem := parseLine(line, reasons)
		if first, ok := lines[e.pattern]; ok && problem == "" {
			problem = fmt.Sprintf("%s stands in line %d already", e.pattern, first)
		}
		e.file, e.line = path, i+1
		if problem != "" {
			errs = append(errs, e.errorf("%s", problem))
			continue
		}
		lines[e.pattern] = e.line
		list = append(list, e)
	}
	return list, errors.Join(errs...)
}

func parseLine(line string, reasons bool) (e entry, problem string) {
	pattern, comment, found := strings.Cut(line, "#")
	e = entry{pattern: strings.TrimSpace(pattern), reason: strings.TrimSpace(comment)}
	switch {
	case strings.Trim(e.pattern, "*.-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "":
		return e, fmt.Sprintf("%q is no pattern of case names", e.pattern)
	case !reasons && found:
		return e, "a list of cases has no reasons"
	case reasons && e.reason == "":
		return e, fmt.Sprintf("%s has no reason: write it behind a #", e.pattern)
	case reasons && e.pattern == pattern:
		return e, fmt.Sprintf("%s needs white space before its #", e.pattern)
	}
	return e, ""
}

func (e *entry) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", e.file, e.line, fmt.Sprintf(format, args...))
}

// find returns the index of the first entry whose pattern matches the case, or -1.
func find(list []entry, name string) int {
	for i := range list {
		if match(list[i].pattern, name) {
			return i
		}
	}
	return -1
}

// match reports whether the pattern matches the whole name. A * stands for any characters, dots included, as in
// deqp-vk's own --deqp-case.
func match(pattern, name string) bool {
	part, pattern, more := strings.Cut(pattern, "*")
	if !more {
		return part == name
	}
	if !strings.HasPrefix(name, part) {
		return false
	}
	name = name[len(part):]
	for {
		if part, pattern, more = strings.Cut(pattern, "*"); !more {
			return strings.HasSuffix(name, part)
		}
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
}
