package icd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
)

// levelTrace lies below slog's Debug: one line for every call.
const levelTrace = slog.Level(-8)

var (
	logLevel slog.LevelVar
	logger   = newLogger(os.Stderr, os.Getenv("FARSIDE_LOG"))
)

// newLogger makes the driver's log: text on w, at the level that setting (FARSIDE_LOG's value) names. A value
// that is no level prints one line with the cure and counts as "error".
func newLogger(w io.Writer, setting string) *slog.Logger {
	level, err := parseLevel(setting)
	if err != nil {
		fmt.Fprintf(w, "farside: %v\n", err)
	}
	logLevel.Set(level)
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: &logLevel, ReplaceAttr: levelName}))
}

func parseLevel(setting string) (slog.Level, error) {
	switch strings.ToLower(strings.TrimSpace(setting)) {
	case "", "error":
		return slog.LevelError, nil
	case "warn":
		return slog.LevelWarn, nil
	case "info":
		return slog.LevelInfo, nil
	case "trace":
		return levelTrace, nil
	}
	return slog.LevelError, fmt.Errorf("FARSIDE_LOG=%q is no log level: set it to error, warn, info or trace, or unset it", setting)
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
