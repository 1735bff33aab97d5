package icd

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestLogLevels(t *testing.T) {
	before := logLevel.Level()
	defer logLevel.Set(before)
	for _, c := range []struct {
		setting string
		level   slog.Level
		trace   bool
	}{
		{"", slog.LevelError, false},
		{"error", slog.LevelError, false},
		{"warn", slog.LevelWarn, false},
		{" Info ", slog.LevelInfo, false},
		{"trace", levelTrace, true},
	} {
		var b bytes.Buffer
		l := newLogger(&b, c.setting)
		if logLevel.Level() != c.level || tracing() != c.trace || b.Len() != 0 {
			t.Errorf("%q: level %v, tracing %v, printed %q", c.setting, logLevel.Level(), tracing(), b.String())
		}
		l.Log(t.Context(), c.level-1, "below")
		l.Log(t.Context(), c.level, "at")
		if s := b.String(); strings.Contains(s, "below") || !strings.Contains(s, "msg=at") {
			t.Errorf("%q printed %q", c.setting, s)
		}
		if c.trace && !strings.Contains(b.String(), "level=TRACE") {
			t.Errorf("trace has another name: %q", b.String())
		}
	}
}

func TestLogBadLevel(t *testing.T) {
	before := logLevel.Level()
	defer logLevel.Set(before)
	var b bytes.Buffer
	newLogger(&b, "loud")
	s := b.String()
	if strings.Count(s, "\n") != 1 || !strings.Contains(s, `FARSIDE_LOG="loud"`) || !strings.Contains(s, "error, warn, info or trace") {
		t.Errorf("a bad level printed %q, want one line with the cure", s)
	}
	if logLevel.Level() != slog.LevelError {
		t.Errorf("a bad level counts as %v, want error", logLevel.Level())
	}
}

// captureLog sends the log to the returned buffer until the test ends.
func captureLog(t testing.TB, setting string) *bytes.Buffer {
	t.Helper()
	level, l := logLevel.Level(), logger
	t.Cleanup(func() {
		logLevel.Set(level)
		logger = l
	})
	var b bytes.Buffer
	logger = newLogger(&b, setting)
	return &b
}
