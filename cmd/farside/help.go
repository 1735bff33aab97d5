package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// columns is the width that help is made for.
const columns = 80

// helpTemplate and usageTemplate are cobra's own with less space, so that a command's help fits a terminal of 24 lines.
const helpTemplate = `{{fill (or .Long .Short)}}

{{.UsageString}}`

const usageTemplate = `Usage: {{if .HasAvailableSubCommands}}{{.CommandPath}} COMMAND{{else}}{{.UseLine}}{{end}}
{{if .HasAvailableSubCommands}}{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}
{{end}}{{if .HasExample}}
Examples:
{{.Example}}
{{end}}{{if .HasAvailableLocalFlags}}
Flags:
{{flags .}}{{end}}{{if .HasAvailableInheritedFlags}}
Flags of all commands: --fabric URL, --secret-file FILE (see farside --help)
{{end}}`

// shapeHelp makes the help of a command, and of all below it, fit a screen.
func shapeHelp(root *cobra.Command) {
	cobra.AddTemplateFunc("fill", fill)
	cobra.AddTemplateFunc("flags", func(c *cobra.Command) string {
		return strings.TrimRight(c.LocalFlags().FlagUsagesWrapped(columns), "\n") + "\n"
	})
	root.SetHelpTemplate(helpTemplate)
	root.SetUsageTemplate(usageTemplate)
}

// fill breaks the lines of paragraphs anew. Lines with an indent stay as they are.
func fill(text string) string {
	var b strings.Builder
	at := 0
	for line := range strings.Lines(strings.TrimSpace(text)) {
		words := strings.Fields(line)
		if len(words) == 0 || line[0] == ' ' {
			if at > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(line)
			at = 0
			continue
		}
		for _, w := range words {
			switch {
			case at == 0:
				at = len(w)
			case at+1+len(w) > columns-1:
				b.WriteByte('\n')
				at = len(w)
			default:
				b.WriteByte(' ')
				at += 1 + len(w)
			}
			b.WriteString(w)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
