package order

import (
	"fmt"
	"strings"
	"testing"
)

// party is an owner with a queue, maybe of another process.
type party struct {
	*process
	t *testing.T
}

// step does one step of a story: a verb, the bytes if they aren't [0, 8), and the queue family and the layouts if they
// aren't 1, 0 and 0. It returns what is wrong with it.
func (p *party) step(step string) (b Breach) {
	a := Access{End: 8, Family: 1, Text: "vkCmdFillBuffer"}
	words := strings.Fields(step)
	for _, w := range words[1:] {
		form, into := "%d-%d", []any{&a.Begin, &a.End}
		if strings.Contains(w, ":") {
			form, into = "%d:%d>%d", []any{&a.Family, &a.Old, &a.New}
		}
		if _, err := fmt.Sscanf(w, form, into...); err != nil {
			p.t.Fatalf("%s: %v", step, err)
		}
	}
	was := (*Access)(nil)
	switch words[0] {
	case "writes", "maywrite":
		commands++
		a.Writes, a.May, a.Command = true, words[0] == "maywrite", commands
		p.Do(p.line, shared, a)
	case "reads":
		b, was = p.Unowned(p.line, shared, a.Begin, a.End)
	default:
		a.Kind = map[string]Kind{"releases": Release, "acquires": Acquire, "takes": Taken}[words[0]]
		b, was = p.Transfer(p.line, shared, a)
	}
	if (b == NoBreach) != (was == nil) {
		p.t.Errorf("%s: breach %d with %+v", step, b, was)
	}
	return b
}

// play goes through a story of parties, and returns what is wrong with its last step.
func play(parties *[3]*party, story string) (b Breach) {
	for step := range strings.SplitSeq(story, ", ") {
		b = parties[step[0]-'p'].step(step[2:])
	}
	return b
}

// ownerRules are stories of the owners p, q and r, and what is wrong with their last steps.
var ownerRules = map[string]Breach{
	"p writes, q reads":                                                           NoBreach, // nobody hands over
	"p writes, p releases, q acquires, q reads":                                   NoBreach,
	"p writes, p releases, q reads":                                               NotAcquired,
	"p writes, q acquires, q reads":                                               NotReleased,
	"q acquires, p writes, p releases, q reads":                                   NotAcquired,
	"p releases, p writes, q acquires, q reads":                                   NotReleased,
	"p writes, p releases, q acquires 0-4, q reads":                               NotAcquired,
	"p writes, p releases, q acquires 0-4, q reads 0-4":                           NoBreach,
	"p writes, p releases, q acquires 0-4, q reads 4-8":                           NotAcquired,
	"p writes, p releases 2-4, q acquires, q reads":                               NotReleased,
	"p writes, p releases 2-4, q acquires, q reads 2-4":                           NoBreach,
	"p writes 0-4, p releases, q reads 4-8":                                       NoBreach,
	"p writes, p releases, p reads":                                               NotAcquired,
	"p writes, p releases, p acquires, p reads":                                   NoBreach,
	"p writes, p releases, q writes, q reads":                                     NoBreach,
	"p writes, p releases, q writes 0-4, q reads":                                 NotAcquired,
	"p writes, p releases, q writes 0-4, q reads 0-4":                             NoBreach,
	"p writes, p releases, q takes, q reads":                                      NoBreach,
	"p maywrite, p releases, q reads":                                             NoBreach,
	"p writes, p releases, q acquires, q writes, q releases, p acquires, p reads": NoBreach,
	"p writes, p releases, q acquires, q writes 4-8, q releases, p reads 0-4":     NotAcquired,
	"p writes, p releases, q acquires, q releases, q reads":                       NotAcquired,
	"p writes, p releases, r acquires, r releases, q acquires, q reads":           NoBreach,
	"p writes, r writes, r releases, q acquires, q reads":                         NoBreach,

	"p writes, p releases, q writes, q acquires":                WrittenBeforeAcquire,
	"p writes, p releases, q acquires, q writes":                NoBreach,
	"p writes, p releases 0-4, q writes 4-8, q acquires":        NoBreach,
	"q writes, p releases, q acquires":                          NoBreach,
	"p releases, q writes, q releases, q acquires":              NoBreach,
	"p releases, q acquires, q writes, q acquires":              NoBreach,
	"q writes, q acquires":                                      NoBreach, // from who never released
	"p writes, p releases, q maywrite, q acquires":              NoBreach,
	"p writes, p releases, q writes, q acquires 1:0>6, q reads": NoBreach, // the acquire keeps nothing, the write counts

	"p releases 1:7>6, q acquires 1:7>6":                              NoBreach,
	"p releases 1:7>6, q acquires 1:6>1":                              NoBreach, // one layout after the other
	"p releases 1:7>6, q acquires 1:1>6":                              Mismatched,
	"p releases 1:7>6, q acquires 2:7>6":                              Mismatched,
	"p releases 1:7>6, q acquires 1:7>6, q acquires 1:1>6":            NoBreach, // that release is over
	"p releases 1:7>6, q acquires 1:0>6":                              NoBreach,
	"p writes, p releases 1:7>6, q acquires 1:0>6, q reads":           NotAcquired,
	"p writes, p releases 1:7>6, q acquires 1:0>6, q writes, q reads": NoBreach,
	"p writes, p releases 1:0>6, q acquires 1:0>6, q reads":           NoBreach,
}

// TestOwners plays the stories with three instances of one process and with those of three.
func TestOwners(t *testing.T) {
	for story, want := range ownerRules {
		t.Run(story, func(t *testing.T) {
			one := NewTracker(0)
			var here, apart [3]*party
			directory := t.TempDir() + "/logs"
			for i := range here {
				here[i] = &party{&process{one, one.NewLine(one.NewOwner())}, t}
				other := newProcess(t, directory, Agent(i+1))
				other.line = other.NewLine(other.NewOwner())
				apart[i] = &party{other, t}
			}
			if got := play(&here, story); got != want {
				t.Errorf("in one process: breach %d, want %d", got, want)
			}
			if got := play(&apart, story); got != want {
				t.Errorf("in three processes: breach %d, want %d", got, want)
			}
		})
	}
}

// TestOwnersForgotten: what is handed over many times is remembered once, and goes with the memory.
func TestOwnersForgotten(t *testing.T) {
	tracker := NewTracker(0)
	p := &party{&process{tracker, tracker.NewLine(tracker.NewOwner())}, t}
	q := &party{&process{tracker, tracker.NewLine(tracker.NewOwner())}, t}
	parties := &[3]*party{p, q}
	for range 100 {
		play(parties, "p releases, q acquires, q releases, p acquires")
	}
	if n := tracker.memories[shared.ID].count(); n != 4 {
		t.Errorf("%d transfers are remembered, want the last of each kind and owner", n)
	}
	for i := range mostTransfers + 1 { // none of them within a later one
		play(parties, fmt.Sprintf("p releases %d-%d, p writes %d-%d", i, 1000+i, i, 1000+i))
	}
	if b := q.step("reads 0-2000"); b != NoBreach {
		t.Errorf("breach %d with too many transfers", b)
	}
	tracker.Forget(shared.ID)
	if b := q.step("reads"); b != NoBreach || len(tracker.handed) != 0 {
		t.Errorf("breach %d in memory that is gone", b)
	}
}
