package icd

import (
	"context"

	"farside/internal/config"
	"farside/internal/log"
	"farside/internal/stderr"
)

const levelTrace = config.LevelTrace

var (
	logLevel = log.Level
	logger   = log.New(stderr.Writer)
)

// tracing says whether trace lines are printed; it costs one atomic load.
func tracing() bool { return logLevel.Level() <= levelTrace }

// trace prints one line at trace level. Callers on hot paths ask tracing first, since the arguments cost
// allocations.
func trace(message string, args ...any) {
	logger.Log(context.Background(), levelTrace, message, args...)
}
