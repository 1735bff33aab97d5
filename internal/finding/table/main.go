// Table writes the table of findings into a page, between the lines that mark its place.
package main

import (
	"fmt"
	"os"
	"strings"

	"farside/internal/finding"
)

const (
	begin = "<!-- findings, printed by make docs -->\n"
	end   = "<!-- end of findings -->\n"
)

func main() {
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(page string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s has no place for the table", page)
	}
	return os.WriteFile(page, []byte(before+begin+finding.Markdown()+end+after), 0o644)
}
