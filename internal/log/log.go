// Package log is the log on standard error, of the driver and of verbs: text, from the level of FARSIDE_LOG on.
package log

import (
	"io"
	"log/slog"

	"farside/internal/config"
)

// Level is from which level on messages are printed.
var Level = func() *slog.LevelVar {
	v := new(slog.LevelVar)
	v.Set(slog.LevelError) // until somebody has read the settings
	return v
}()

// New makes a log on w.
func New(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: Level, ReplaceAttr: levelName}))
}

// levelName prints config.LevelTrace by its name; slog would say DEBUG-4.
func levelName(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.LevelKey && a.Value.Any() == config.LevelTrace {
		a.Value = slog.StringValue("TRACE")
	}
	return a
}
