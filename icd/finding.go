package icd

import (
	"fmt"
	"log/slog"
	"strings"

	"farside/internal/finding"
	"farside/internal/vk"
)

// find tells a finding of strictness: to standard error and the journal, and to the messengers with its id. place tells
// apart what is found about the first of objects: see finding.Finding. Like every message, it is sent with no lock
// held.
func (i *instance) find(id finding.ID, place uint64, stack []string, objects []object, format string, args ...any) {
	f := &finding.Finding{ID: id, Text: fmt.Sprintf(format, args...), Place: place, Stack: stack}
	for _, o := range objects {
		f.Objects = append(f.Objects, i.journaled(o))
	}
	if !finding.Tell(f) {
		return
	}
	severity := vk.DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT
	if finding.RowOf(id).Severity >= slog.LevelError {
		severity = vk.DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT
	}
	text := f.Text
	if len(stack) > 0 {
		text += "\n    " + strings.Join(stack, "\n    ")
	}
	i.send(severity, vk.DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT, string(id), text, objects)
}

// find is instance.find for what is not about a place.
func (d *device) find(id finding.ID, objects []object, format string, args ...any) {
	d.physical.instance.find(id, 0, nil, objects, format, args...)
}
