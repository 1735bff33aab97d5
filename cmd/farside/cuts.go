package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"farside/internal/profile"
)

// mostLines bounds what a summary has of one kind of things.
const mostLines = 4

// summarizeCuts prints what the profile claims and the driver doesn't do, as a paragraph for each kind of thing, which
// ends early where it gets long. Values that are in several structures stand there once.
func summarizeCuts(out io.Writer, changes []profile.Change) error {
	var kinds []string
	items := map[string][]string{}
	for _, c := range changes {
		if items[c.Kind] == nil {
			kinds = append(kinds, c.Kind)
		}
		if item := printable(summary(c)); !slices.Contains(items[c.Kind], item) {
			items[c.Kind] = append(items[c.Kind], item)
		}
	}
	var b strings.Builder
	for _, kind := range kinds {
		fmt.Fprintf(&b, "  cut (%s):\n%s", kind, paragraph(items[kind]))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// summary is the words for a change: the name without its structure, and of what has values both.
func summary(c profile.Change) string {
	_, name, isMember := strings.Cut(c.Name, ".")
	if !isMember {
		name = c.Name
	}
	switch c.Kind {
	case "extension", "feature":
		return name
	}
	return fmt.Sprintf("%s %s -> %s", name, shortFlags(c.Claimed), shortFlags(c.Actual))
}

// shortFlags is a value without what the names of flags have in common.
func shortFlags(value string) string {
	for _, prefix := range []string{"VK_QUEUE_", "VK_MEMORY_PROPERTY_", "VK_MEMORY_HEAP_"} {
		value = strings.ReplaceAll(value, prefix, "")
	}
	return strings.ReplaceAll(value, "_BIT", "")
}

// paragraph puts items, with commas and an indent, in lines that fit a screen, and not in more than mostLines of them.
func paragraph(items []string) string {
	const indent = "    "
	var lines []string
	for i, item := range items {
		if i < len(items)-1 {
			item += ","
		}
		last := len(lines) - 1
		if last >= 0 && len(lines[last])+1+len(item) < columns {
			lines[last] += " " + item
			continue
		}
		if len(lines) == mostLines {
			lines = append(lines, fmt.Sprintf("%sand %d more (--cut lists all)", indent, len(items)-i))
			break
		}
		lines = append(lines, indent+item)
	}
	return strings.Join(lines, "\n") + "\n"
}

// listCuts prints a line for each thing that the profile claims and the driver doesn't do.
func listCuts(out io.Writer, changes []profile.Change) error {
	if len(changes) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CUT\tNAME\tCLAIMED -> HERE")
	for _, c := range changes {
		why := ""
		if c.Why != "" {
			why = " (" + c.Why + ")"
		}
		fmt.Fprintf(w, "%s\t%s\t%s -> %s%s\n", c.Kind, c.Name, printable(c.Claimed), printable(c.Actual), printable(why))
	}
	return w.Flush()
}
