//go:build race

package verbs

// raceEnabled says that the race detector is on, which allocates now and then.
const raceEnabled = true
