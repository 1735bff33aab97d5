package main

import (
	"bufio"
	"encoding/json"
	"io"
)

// An event is a line of JSON by which the guest says what happens.
type event struct {
	Kind eventKind
	Step string `json:",omitempty"`
	Text string `json:",omitempty"` // a line of the step's output, or an error
	Exit int    `json:",omitempty"` // of the step's command
}

type eventKind string

const (
	eventReady eventKind = "ready" // the steps begin
	eventLine  eventKind = "line"
	eventDone  eventKind = "done"   // of a step
	eventError eventKind = "error"  // the guest's init failed
	eventEnd   eventKind = "finish" // of all steps
)

// events reads until r ends. Lines that are none, such as those of firmware, are left out.
func events(r io.Reader, each func(event)) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Kind != "" {
			each(e)
		}
	}
	return lines.Err()
}
