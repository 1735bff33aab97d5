package icd

import (
	"context"
	"io"
	"log/slog"

	"farside/internal/config"
	"farside/internal/stderr"
)

const levelTrace = config.LevelTrace

var (
	logLevel = func() *slog.LevelVar {
		v := new(slog.LevelVar)
		v.Set(slog.LevelError) // until readSettings
		return v
	}()
	logger = newLogger(stderr.Writer)
)

// newLogger makes the driver's log: text on w. readSettings sets its level.
func newLogger(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: logLevel, ReplaceAttr: levelName}))
}

// levelName prints levelTrace by its name; slog would say DEBUG-4.
func levelName(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.LevelKey && a.Value.Any() == levelTrace {
		a.Value = slog.StringValue("TRACE")
	}
	return a
}

// tracing says whether trace lines are printed; it costs one atomic load.
func tracing() bool { return logLevel.Level() <= levelTrace }

// trace prints one line at trace level. Callers on hot paths ask tracing first, since the arguments cost
// allocations.
func trace(message string, args ...any) {
	logger.Log(context.Background(), levelTrace, message, args...)
}
