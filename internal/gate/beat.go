package gate

import (
	"sync"
	"time"
)

// beatPeriod is the time in which a thread that a stop of the world has missed is found.
const beatPeriod = 200 * time.Millisecond

// beat keeps a timer due, so that sysmon of the Go runtime never sleeps for longer than beatPeriod.
//
// In Go 1.26 a thread on its way out of Go code looks whether the world is to stop before it gives its state away. If
// it is descheduled between the two, the stop does not see it: only sysmon takes its processor. But sysmon goes to
// sleep when it sees a stop of the world, until the next timer of the process is due, or for a minute if there is
// none. Meanwhile the threads that have stopped stand still; and if the missed one waits for one of them, everybody
// does. Without the beat, a case in some thousand of the CTS' subgroup groups hung for a minute on 16 processors.
var beat = sync.OnceFunc(func() { go beats() })

// beats is a function of its own so that profiles and tests see it by name.
func beats() {
	for range time.Tick(beatPeriod) {
	}
}
