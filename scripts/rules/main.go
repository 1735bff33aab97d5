// Command rules checks the rules of CONTRIBUTING.md about sizes: those of lines, functions, files and commit subjects.
// It prints the offenders, one a line, and exits with status 1 if there are any. scripts/house-rules.sh runs it at the
// top of the tree.
package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxColumns       = 120 // a tab is one
	maxFunctionLines = 80  // without those of its tables
	maxFileLines     = 800
	maxSubject       = 72 // characters

	// lastLongSubject is the newest commit that was made before anything looked at subjects.
	lastLongSubject = "15e4cd65"
)

func main() {
	offenders, err := checkAll()
	if err != nil {
		fmt.Fprintln(os.Stderr, "rules:", err)
		os.Exit(1)
	}
	for _, o := range offenders {
		fmt.Println(o)
	}
	if len(offenders) > 0 {
		os.Exit(1)
	}
}

func checkAll() ([]string, error) {
	list, err := git("ls-files", "-z")
	if err != nil {
		return nil, err
	}
	c := checker{exceptions: maps.Clone(exceptions)}
	for _, name := range strings.Split(list, "\x00") {
		if !handWritten(name) {
			continue
		}
		info, err := os.Lstat(name)
		if errors.Is(err, os.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue // deleted and not yet committed, or a link to a file that is looked at
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if err := c.file(name, text); err != nil {
			return nil, err
		}
	}
	c.unused()
	log, err := subjects()
	if err != nil {
		return nil, err
	}
	c.subjects(log)
	return c.offenders, nil
}

// handWritten says whether the rules are about a file: source code that no program wrote.
func handWritten(name string) bool {
	return slices.Contains([]string{".go", ".s", ".S", ".sh", ".c", ".h"}, path.Ext(name)) &&
		!strings.HasPrefix(path.Base(name), "zz_generated_")
}

// subjects are the commits since lastLongSubject, a line each: hash and subject. A clone that lacks that commit is
// shallow, and has newer ones alone.
func subjects() (string, error) {
	args := []string{"log", "--format=%h %s", "HEAD"}
	if _, err := git("cat-file", "-e", lastLongSubject+"^{commit}"); err == nil {
		args = append(args, "^"+lastLongSubject)
	}
	return git(args...)
}

func git(args ...string) (string, error) {
	var complaints bytes.Buffer
	command := exec.Command("git", args...)
	command.Stderr = &complaints
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, complaints.Bytes())
	}
	return string(out), nil
}

// checker collects what breaks a rule.
type checker struct {
	exceptions map[string]string // those that nothing has needed yet
	offenders  []string
}

// found notes an offender, unless there is an exception of that name.
func (c *checker) found(exception, format string, args ...any) {
	if _, ok := exceptions[exception]; ok {
		delete(c.exceptions, exception)
		return
	}
	c.offenders = append(c.offenders, fmt.Sprintf(format, args...))
}

func (c *checker) file(name string, text []byte) error {
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for i, line := range lines {
		if n := utf8.RuneCountInString(line); n > maxColumns {
			c.found("", "%s:%d: the line has %d columns, not at most %d", name, i+1, n, maxColumns)
		}
	}
	if len(lines) > maxFileLines {
		c.found(name, "%s: the file has %d lines, not at most %d", name, len(lines), maxFileLines)
	}
	if path.Ext(name) != ".go" {
		return nil
	}
	return c.functions(name, text)
}

// functions looks at the functions of a Go file.
func (c *checker) functions(name string, text []byte) error {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	line := func(p token.Pos) int { return files.Position(p).Line }
	for _, declaration := range file.Decls {
		f, ok := declaration.(*ast.FuncDecl)
		if !ok {
			continue
		}
		n := line(f.End()) - line(f.Pos()) + 1
		ast.Inspect(f, func(node ast.Node) bool {
			table, ok := node.(*ast.CompositeLit)
			if ok {
				n -= line(table.End()) - line(table.Pos())
			}
			return !ok
		})
		if n > maxFunctionLines {
			c.found(name+" "+f.Name.Name, "%s:%d: function %s has %d lines beside its tables, not at most %d",
				name, line(f.Pos()), f.Name.Name, n, maxFunctionLines)
		}
	}
	return nil
}

// unused finds exceptions that nothing needs any more.
func (c *checker) unused() {
	for _, e := range slices.SortedFunc(maps.Keys(c.exceptions), cmp.Compare) {
		c.offenders = append(c.offenders, fmt.Sprintf("scripts/rules: nothing needs the exception %q", e))
	}
}

func (c *checker) subjects(log string) {
	for line := range strings.Lines(log) {
		hash, subject, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if n := utf8.RuneCountInString(subject); n > maxSubject {
			c.found("", "commit %s: the subject has %d characters, not at most %d: %s", hash, n, maxSubject, subject)
		}
	}
}
