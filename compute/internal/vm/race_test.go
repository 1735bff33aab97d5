//go:build race

package vm

// raceEnabled says that the race detector is on, with which a sync.Pool forgets things at random.
const raceEnabled = true
