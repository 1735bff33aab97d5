package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"farside/internal/config"
)

// The pages of man(1) are printed from what --help and farside env print: page 1 is the tool and all of its
// subcommands, page 7 the variables. They are in the language of man(7).

// roff writes a page.
type roff struct{ strings.Builder }

var inRoff = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", "")

// markdownLink is a link of Markdown, of which a page has the text.
var markdownLink = regexp.MustCompile(`\[([^]]+)\]\([^)]+\)`)

// line writes a line of text. One that begins with a dot would be a request.
func (r *roff) line(text string) {
	text = inRoff.Replace(markdownLink.ReplaceAllString(text, "$1"))
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	r.WriteString(text + "\n")
}

// request writes a request, with its arguments each in quotes.
func (r *roff) request(name string, arguments ...string) {
	r.WriteString("." + name)
	for _, a := range arguments {
		r.WriteString(` "` + strings.ReplaceAll(inRoff.Replace(a), `"`, `\(dq`) + `"`)
	}
	r.WriteString("\n")
}

// text writes paragraphs, which empty lines divide. Lines with an indent stay as they are, others are filled.
func (r *roff) text(text string) {
	asIs := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if indented := strings.HasPrefix(line, "  "); indented != asIs && line != "" {
			r.request(map[bool]string{true: "EX", false: "EE"}[indented])
			asIs = indented
		}
		if line == "" {
			r.request("P")
		} else {
			r.line(line)
		}
	}
	if asIs {
		r.request("EE")
	}
}

func (r *roff) flags(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if value != "" {
			name += " " + value
		}
		r.request("TP")
		r.request("B", name)
		if f.DefValue != "" && f.DefValue != "false" {
			usage += " (default " + f.DefValue + ")"
		}
		r.line(usage)
	})
}

func (r *roff) examples(c *cobra.Command) {
	if c.Example != "" {
		r.request("P")
		r.text(c.Example)
	}
}

// title begins a page.
func (r *roff) title(section, manual, description string) {
	r.request("TH", "FARSIDE", section, "", "Farside "+version, manual)
	r.request("SH", "NAME")
	r.WriteString(`farside \- `)
	r.line(description)
}

// commands writes the commands below c that people see, and those below them.
func (r *roff) commands(c *cobra.Command) {
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		if sub.Runnable() {
			r.request("SS", strings.TrimSuffix(sub.UseLine(), " [flags]"))
			r.text(sub.Long)
			r.flags(sub.LocalNonPersistentFlags())
			r.examples(sub)
		}
		r.commands(sub)
	}
}

// toolPage is farside(1).
func toolPage(*installation) ([]byte, error) {
	root := (&tool{}).command()
	var r roff
	r.title("1", "User Commands", root.Short)
	r.request("SH", "SYNOPSIS")
	r.request("B", "farside [OPTION...] COMMAND [ARGUMENT...]")
	r.request("SH", "DESCRIPTION")
	r.text(root.Long)
	r.request("SH", "OPTIONS")
	r.flags(root.PersistentFlags())
	r.request("SH", "COMMANDS")
	r.commands(root)
	r.request("SH", "EXAMPLES")
	r.text(root.Example)
	r.request("SH", "ENVIRONMENT")
	r.text("Farside(7) lists the variables.")
	r.request("SH", "SEE ALSO")
	r.request("BR", "farside", "(7)")
	return []byte(r.String()), nil
}

// variablesPage is farside(7).
func variablesPage(*installation) ([]byte, error) {
	var r roff
	r.title("7", "Miscellaneous", "environment of the Vulkan driver, its fabric and its tool")
	r.request("SH", "DESCRIPTION")
	r.line(environmentReaders)
	for rule := range strings.SplitSeq(strings.TrimPrefix(environmentRules, "- "), "\n- ") {
		r.request("IP", "*", "2")
		r.line(strings.Join(strings.Fields(rule), " "))
	}
	r.request("SH", "VARIABLES")
	for _, v := range config.Table {
		r.request("TP")
		r.request("B", v.Name)
		r.line(v.Help)
		r.line(fmt.Sprintf("Allowed: %s. Default: %s.", v.Type, v.Default))
	}
	r.request("SH", "SEE ALSO")
	r.request("BR", "farside", "(1)")
	return []byte(r.String()), nil
}
