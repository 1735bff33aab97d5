package icd

import (
	"context"
	"sync"

	"farside/internal/config"
	"farside/internal/log"
	"farside/internal/stderr"
	"farside/internal/vk"
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

// tracer is the observer that prints each call, at trace level.
type tracer struct{}

var traced struct {
	mu     sync.Mutex
	remove func() // of the tracer; nil: there is none
}

// setTracer prints all calls from now on if the level asks for it, else none. What observers aren't told of isn't
// printed: commands that are recorded, and calls that are refused for their handles, which have messages of their own.
func setTracer() {
	traced.mu.Lock()
	defer traced.mu.Unlock()
	switch {
	case tracing() && traced.remove == nil:
		traced.remove = interpose(tracer{})
	case !tracing() && traced.remove != nil:
		traced.remove()
		traced.remove = nil
	}
}

func (tracer) before(*call) (vk.Result, bool) { return vk.SUCCESS, false }

func (tracer) after(c *call, result vk.Result) {
	switch {
	case !tracing():
	case c.fallible:
		trace(c.command, "result", result)
	default:
		trace(c.command)
	}
}
