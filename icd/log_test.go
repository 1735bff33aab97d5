package icd

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"farside/internal/config"
	"farside/internal/log"
)

func TestLogLevels(t *testing.T) {
	for _, c := range []struct {
		level slog.Level
		trace bool
	}{{slog.LevelError, false}, {slog.LevelWarn, false}, {slog.LevelInfo, false}, {levelTrace, true},
		{config.LevelOff, false}} {
		b := captureLog(t, c.level)
		if tracing() != c.trace {
			t.Errorf("%v: tracing %v", c.level, tracing())
		}
		logger.Log(t.Context(), c.level-1, "below")
		logger.Log(t.Context(), c.level, "at")
		if s := b.String(); strings.Contains(s, "below") || !strings.Contains(s, "msg=at") {
			t.Errorf("%v printed %q", c.level, s)
		}
		if c.trace && !strings.Contains(b.String(), "level=TRACE") {
			t.Errorf("trace has another name: %q", b.String())
		}
	}
}

// captureLog sends the log, from this level on, to the returned buffer until the test ends.
func captureLog(t testing.TB, from slog.Level) *bytes.Buffer {
	t.Helper()
	level, l := logLevel.Level(), logger
	t.Cleanup(func() {
		logLevel.Set(level)
		logger = l
	})
	var b bytes.Buffer
	logger = log.New(&b)
	logLevel.Set(from)
	return &b
}
