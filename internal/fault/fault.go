// Package fault injects faults on command: results of Vulkan commands, lost devices, delays, errors of functions of
// libibverbs and librdmacm, and what goes wrong on an RDMA fabric. A [Plan] is read from FARSIDE_FAULTS; docs/faults.md
// has its language. Who can inject a fault asks the plan at each call ([Plan.At]), and does what it says.
//
// A rule counts the calls that it applies to, and decides about the n-th by n alone: with a probability, by a hash of
// the seed, the rule's place and n. So the same plan with the same seed gives the same faults, whichever thread makes
// the n-th call.
package fault

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/config"
	"farside/internal/fd"
	"farside/internal/journal"
	"farside/internal/stderr"
	"farside/internal/unlike"
	"farside/internal/vk"
)

// Command is a Vulkan command that faults can be put into.
type Command struct {
	place        uint16 // in vk.Commands
	first, count uint16 // its part of commandResults
	Memory       bool   // a call names a VkDeviceMemory, or allocates one: heap and type can be asked for
	Handle       bool   // a call names types of external handles
}

// Name is the command's; of aliases, the name without a suffix.
func (c *Command) Name() string { return vk.Commands[c.place].Name.String() }

// Results are what it may return beside VK_SUCCESS, those of success first; none if it has no result.
func (c *Command) Results() []vk.Result { return commandResults[c.first:][:c.count:c.count] }

// Plan is the rules of a process, in their order. The counts of its rules go on for as long as the process lives.
type Plan struct {
	Seed   uint64
	Seeded bool // the text says the seed
	Rules  []*Rule

	level   slog.Level // of the log
	started time.Time
	targets map[string][]*Rule
}

// Rule is one line of a plan.
type Rule struct {
	Target     string // a command's name, or a point: queue.dispatch, rdma.write, …
	Conditions []Condition
	Effect     Effect
	Selector   Selector

	salt    uint64
	counted atomic.Uint64
}

// Condition is what a call must have for a rule to apply.
type Condition struct {
	Key    string // heap, type, handle or name
	Number uint32 // of heap and type
	Text   string // of handle: such as OPAQUE_FD; of name: a pattern of path.Match
}

// Array is the key of a condition that rules with VK_INCOMPLETE have by themselves: the call asks for elements, not for
// their number.
const Array = "array"

// Effect is what happens to a call. Its parts add up: a delay comes first.
type Effect struct {
	Delay   time.Duration
	Result  vk.Result // 0: none
	Status  int32     // an enum ibv_wc_status, 0: none
	Partial bool      // Bytes of a transfer are done, then it fails
	Bytes   uint64
	Lost    bool // the device is lost
	Sever   bool // the connection of a peer is cut for good
	Packet  PacketFate
	Errno   unix.Errno // that a function of verbs fails with, 0: none
}

// PacketFate is what happens to a packet.
type PacketFate uint8

const (
	Unharmed  PacketFate = iota
	Drop                 // it is lost
	Duplicate            // it is sent twice
	Reorder              // it is sent after the next one
)

var packetNames = [...]string{"", "drop", "duplicate", "reorder"}

// String is the fate as Parse reads it, empty for Unharmed.
func (f PacketFate) String() string { return packetNames[f] }

// Outcome is the status with which an operation ends that fails on command: without one, that of a connection which was
// lost.
func (e *Effect) Outcome() int32 {
	if e.Status != 0 {
		return e.Status
	}
	return int32(slices.Index(StatusNames[:], "IBV_WC_RETRY_EXC_ERR"))
}

// ends says whether the call ends by the effect, so that no other rule has a say.
func (e *Effect) ends() bool {
	return e.Result != 0 || e.Status != 0 || e.Partial || e.Lost || e.Sever || e.Packet != Unharmed || e.Errno != 0
}

// Selector picks calls among those that a rule applies to. All that is set must hold.
type Selector struct {
	First, Last uint64        // numbers of calls, from 1; Last 0: no end
	Every       uint64        // multiples of a number; 0: all
	Probability float64       // used where Random is set
	Random      bool          //
	After       time.Duration // calls that begin this long after the plan did; earlier ones are not counted
}

// Injection is what a call gets. Text says it in words, with the rules.
type Injection struct {
	Effect
	Text string
}

// At says what a call of a target gets; ok is false for nothing. holds says whether the call has what a condition
// asks for; it is not called where rules have none.
func (p *Plan) At(target string, holds func(Condition) bool) (i Injection, ok bool) {
	for _, r := range p.targets[target] {
		n, hit := r.hit(p, holds)
		if !hit {
			continue
		}
		if ok {
			i.Text += "; "
		}
		i.Text += fmt.Sprintf("%v (call %d of %s)", r, n, target)
		e := r.Effect
		e.Delay += i.Delay
		i.Effect, ok = e, true
		if e.ends() {
			break
		}
	}
	if ok {
		injected()
	}
	return i, ok
}

// Covers says whether any rule is about a target.
func (p *Plan) Covers(target string) bool { return len(p.targets[target]) > 0 }

// Has says whether any rule is about a target that begins with prefix.
func (p *Plan) Has(prefix string) bool {
	for target := range p.targets {
		if strings.HasPrefix(target, prefix) {
			return true
		}
	}
	return false
}

// hit counts a call and decides about it.
func (r *Rule) hit(p *Plan, holds func(Condition) bool) (n uint64, hit bool) {
	for _, c := range r.Conditions {
		if !holds(c) {
			return 0, false
		}
	}
	if r.Effect.Result == vk.INCOMPLETE && !holds(Condition{Key: Array}) {
		return 0, false
	}
	s := &r.Selector
	if s.After > 0 && time.Since(p.started) < s.After {
		return 0, false
	}
	n = r.counted.Add(1)
	switch {
	case n < s.First, s.Last != 0 && n > s.Last, s.Every != 0 && n%s.Every != 0:
		return n, false
	case s.Random:
		return n, unit(p.Seed, r.salt, n) < s.Probability
	}
	return n, true
}

// unit is a number from 0 to 1, evenly spread, that depends on its arguments alone (SplitMix64 of Steele, Lea and
// Flood).
func unit(seed, salt, n uint64) float64 {
	x := mix(mix(seed+salt*0x9e3779b97f4a7c15) + n)
	return float64(x>>11) / (1 << 53)
}

func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// random says whether the seed matters.
func (p *Plan) random() bool {
	for _, r := range p.Rules {
		if r.Selector.Random {
			return true
		}
	}
	return false
}

// start begins the time of the plan, and gives it a seed if it has none.
func (p *Plan) start() {
	if !p.Seeded {
		p.Seed = unlike.Uint64() >> 32
	}
	p.started = time.Now()
}

var process struct {
	mu   sync.Mutex
	text string
	plan *Plan // nil for no rules
}

// Load returns the plan of the process, nil for none. The first call with a text begins its counts and says its seed
// at info level; later ones with the same text get the same plan. Errors: config.ErrSetting.
func Load(settings *config.Settings) (*Plan, error) {
	process.mu.Lock()
	defer process.mu.Unlock()
	if settings.Faults == process.text {
		return process.plan, nil
	}
	text, plan := settings.Faults, (*Plan)(nil)
	if text != "" {
		var err error
		if plan, err = Read(text); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", config.ErrSetting, config.Faults, err)
		}
		if len(plan.Rules) == 0 {
			plan = nil
		}
	}
	process.text, process.plan = text, plan
	if plan != nil {
		plan.level = settings.Log
		plan.start()
		plan.log(fmt.Sprintf("faults on command: %v", plan))
	}
	return plan, nil
}

// For is Load for who asks about targets that begin with prefix alone: nil if no rule is about them.
func For(settings *config.Settings, prefix string) (*Plan, error) {
	p, err := Load(settings)
	if err != nil || p == nil || !p.Has(prefix) {
		return nil, err
	}
	return p, nil
}

// ID is what tells a fault on command from everything else in reports and messages.
const ID = "FARSIDE-fault"

// Tell tells the journal and the log of an injection at a target.
func (p *Plan) Tell(target string, i *Injection) {
	text := "fault on command: " + i.Text
	if journal.On() {
		journal.Emit(journal.Event{Kind: journal.Fault, Command: target, ID: ID, Text: text})
	}
	p.log(text)
}

// log writes a line to standard error, if FARSIDE_LOG lets info through.
func (p *Plan) log(text string) {
	if p.level <= slog.LevelInfo {
		slog.New(slog.NewTextHandler(stderr.Writer, nil)).Info(text, "id", ID)
	}
}

// maxFile is the most bytes of a file with rules.
const maxFile = 1 << 20

// Read reads a plan from a text, or from the file that it names: one without "=", or that begins with "/" or ".". The
// errors are those of Parse and of reading the file.
func Read(text string) (*Plan, error) {
	if strings.Contains(text, "=") && !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, ".") {
		return Parse(text)
	}
	data, err := fd.ReadRegular(text, maxFile)
	if err != nil {
		return nil, fmt.Errorf("%q is neither a plan, which has a =, as in %s, nor a file that can be read: %w", text,
			"vkAllocateMemory=VK_ERROR_OUT_OF_DEVICE_MEMORY@3", err)
	}
	p, err := Parse(string(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	return p, nil
}
