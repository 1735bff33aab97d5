package fault

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agnivade/levenshtein"
	"golang.org/x/sys/unix"

	"farside/internal/vk"
)

// errGrammar is wrapped by all errors of Parse.
var errGrammar = errors.New("not a plan of faults")

// Points are the targets beside commands, with the effects that each allows.
var Points = sync.OnceValue(func() []Point {
	return append([]Point{
		{"queue.submit", "a submission begins to execute", []string{"lost", "delay"}},
		{"queue.command", "a recorded command is executed", []string{"lost", "delay"}},
		{"queue.dispatch", "a dispatch is executed", []string{"lost", "delay"}},
		{"queue.copy", "a copy, blit, resolve, fill, update or clear is executed", []string{"lost", "delay"}},
		{"rdma.read", "a read", transferEffects},
		{"rdma.write", "a write", transferEffects},
		{"rdma.atomic", "an atomic", []string{"delay", "sever", "IBV_WC_…"}},
		{"rdma.resolve", "a peer asks for a region, also by its first operation on it",
			[]string{"delay", "sever", "IBV_WC_…"}},
		{"rdma.serve", "an owner or a bridge answers such a question", []string{"delay", "sever"}},
		{"rdma.send", "a queue pair sends a message", []string{"delay", "sever", "IBV_WC_…"}},
		{"rdma.recv", "a queue pair has received a message into a receive", []string{"delay", "sever", "IBV_WC_…"}},
		{"rdma.packet", "a queue pair sends a packet", packetNames[1:]},
	}, functions()...)
})

var transferEffects = []string{"delay", "sever", "partial", "IBV_WC_…"}

// Point is a target that is no command.
type Point struct {
	Name    string
	Meaning string
	Effects []string
}

// Parse reads a plan: rules and a seed, separated by semicolons or ends of lines. What follows a # at the beginning of
// a word is a comment. The error names the rule, and the nearest right word where one is wrong.
func Parse(text string) (*Plan, error) {
	p := &Plan{targets: map[string][]*Rule{}}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, " #")
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") {
			continue
		}
		for entry := range strings.SplitSeq(line, ";") {
			if entry = strings.TrimSpace(entry); entry == "" {
				continue
			}
			if err := p.entry(entry); err != nil {
				return nil, fmt.Errorf("%w: %q: %w", errGrammar, entry, err)
			}
		}
	}
	return p, nil
}

// entry reads a rule or the seed.
func (p *Plan) entry(text string) (err error) {
	target, conditions, rest, err := head(text)
	if err != nil {
		return err
	}
	if target == "seed" && conditions == "" {
		if p.Seeded {
			return errors.New("the seed stands there twice")
		}
		p.Seeded = true
		if p.Seed, err = strconv.ParseUint(rest, 0, 64); err != nil {
			return fmt.Errorf("%q is no seed: a number below 2^64", rest)
		}
		return nil
	}
	r := &Rule{salt: uint64(len(p.Rules) + 1)}
	effects, selectors, selects := strings.Cut(rest, "@")
	if selects {
		// queue=lost@dispatch:7 is queue.dispatch=lost@7.
		if point, s, ok := strings.Cut(selectors, ":"); ok && (target == "queue" || target == "rdma") &&
			isPoint(target, point) {
			target, selectors = target+"."+point, s
		}
		if r.Selector, err = parseSelector(selectors); err != nil {
			return err
		}
	}
	names, command, err := resolveTarget(target)
	if err != nil {
		return err
	}
	if r.Conditions, err = parseConditions(conditions, command, names[0]); err != nil {
		return err
	}
	if r.Target, err = r.Effect.parse(effects, names, command); err != nil {
		return err
	}
	p.Rules = append(p.Rules, r)
	if strings.Contains(r.Target, ".") || command != nil {
		p.targets[r.Target] = append(p.targets[r.Target], r)
		return nil
	}
	for _, point := range Points() { // rdma: all that can have the effect
		if slices.Contains(names, point.Name) && point.allows(&r.Effect) {
			p.targets[point.Name] = append(p.targets[point.Name], r)
		}
	}
	return nil
}

// allows says whether a point can have all parts of an effect.
func (p *Point) allows(e *Effect) bool {
	can := func(have bool, kind string) bool { return !have || slices.Contains(p.Effects, kind) }
	return can(e.Lost, "lost") && can(e.Sever, "sever") && can(e.Partial, "partial") && can(e.Status != 0, "IBV_WC_…") &&
		can(e.Delay != 0, "delay") && can(e.Packet != Unharmed, e.Packet.String()) &&
		can(e.Errno != 0, unix.ErrnoName(e.Errno))
}

// head takes a rule apart: target, then conditions in brackets, then what stands behind the equals sign.
func head(text string) (target, conditions, rest string, err error) {
	target, rest, ok := strings.Cut(text, "=")
	if at := strings.IndexByte(target, '['); at >= 0 {
		end := at + strings.IndexByte(text[at:], ']')
		if end < at {
			return "", "", "", errors.New("a [ without its ]")
		}
		target, conditions = text[:at], text[at+1:end]
		if conditions = strings.TrimSpace(conditions); conditions == "" {
			return "", "", "", errors.New("empty [ ]")
		}
		rest, ok = strings.CutPrefix(strings.TrimSpace(text[end+1:]), "=")
	}
	if !ok {
		return "", "", "", errors.New("no = between what fails and how: TARGET[CONDITION,…]=EFFECT@SELECTOR")
	}
	return strings.TrimSpace(target), conditions, strings.TrimSpace(rest), nil
}

func isPoint(group, name string) bool {
	return slices.ContainsFunc(Points(), func(p Point) bool { return p.Name == group+"."+name })
}

// commandIndex is the place of a command in Commands, or -1.
func commandIndex(name string) int {
	i, ok := slices.BinarySearchFunc(Commands, name,
		func(c Command, name string) int { return strings.Compare(c.Name(), name) })
	if !ok {
		return -1
	}
	return i
}

// resolveTarget finds a command, by any of its names, or the points of a name.
func resolveTarget(name string) (targets []string, command *Command, err error) {
	canonical := name
	if c, ok := vk.CommandByName(name); ok && c.Alias != 0 {
		canonical = c.Alias.String()
	}
	if i := commandIndex(canonical); i >= 0 {
		return []string{canonical}, &Commands[i], nil
	}
	for _, p := range Points() {
		if p.Name == name || strings.HasPrefix(p.Name, name+".") {
			targets = append(targets, p.Name)
		}
	}
	if targets != nil {
		return targets, nil, nil
	}
	if c, ok := vk.CommandByName(canonical); ok {
		why := "the driver does not have it"
		if strings.HasPrefix(c.Name.String(), "vkCmd") {
			why = "it is recorded; queue.command, queue.dispatch and queue.copy are where recorded commands fail"
		}
		return nil, nil, fmt.Errorf("%s can't fail on command: %s", name, why)
	}
	return nil, nil, fmt.Errorf("there is no %q; the nearest is %s", name,
		nearest(name, append(Names(), "queue", "rdma", "seed")))
}

// Names are the commands and points that can fail.
func Names() []string {
	var names []string
	for _, c := range Commands {
		names = append(names, c.Name())
	}
	for _, p := range Points() {
		names = append(names, p.Name)
	}
	return names
}

// Nearest is the name of a command or a point that is most like one that is wrong.
func Nearest(wrong string) string { return nearest(wrong, Names()) }

// nearest is the word that is most like one that is wrong.
func nearest(wrong string, words []string) string {
	fold := strings.ToLower(wrong)
	return slices.MinFunc(words, func(a, b string) int {
		return levenshtein.ComputeDistance(strings.ToLower(a), fold) - levenshtein.ComputeDistance(strings.ToLower(b), fold)
	})
}

// parse reads effects, joined by plus signs, for a target, and returns the name that its rule has.
func (e *Effect) parse(text string, targets []string, command *Command) (string, error) {
	target := targets[0]
	if len(targets) > 1 {
		target, _, _ = strings.Cut(target, ".") // queue and rdma
	}
	for word := range strings.SplitSeq(text, "+") {
		word = strings.TrimSpace(word)
		kind, value, _ := strings.Cut(word, ":")
		var allowed []string
		if command != nil {
			allowed = append(allowed, "delay")
			for _, r := range command.Results() {
				allowed = append(allowed, r.String())
			}
		} else {
			for _, p := range Points() {
				if slices.Contains(targets, p.Name) {
					allowed = append(allowed, p.Effects...)
				}
			}
		}
		if slices.Contains(allowed, "IBV_WC_…") {
			allowed = append(allowed, StatusNames[1:]...)
		}
		if r, ok := resultOfAlias(kind); ok {
			kind = r.String()
		}
		if kind == "IBV_WC_…" || !slices.Contains(allowed, kind) {
			what := target + " can't have the effect"
			if strings.HasPrefix(kind, "VK_") && command != nil {
				what = "the registry does not allow " + target + " to return"
			}
			return "", fmt.Errorf("%s %q; the nearest is %s", what, kind, nearest(kind, slices.DeleteFunc(allowed,
				func(w string) bool { return w == "IBV_WC_…" })))
		}
		if err := e.add(kind, value); err != nil {
			return "", err
		}
	}
	if e.Result != 0 && (e.Lost || e.Status != 0) || e.Sever && (e.Status != 0 || e.Partial) ||
		e.Packet != Unharmed && (e.Sever || e.Partial || e.Status != 0 || e.Delay != 0) {
		return "", errors.New("a call has one outcome")
	}
	if target == "queue" {
		return "queue.submit", nil
	}
	return target, nil
}

// add is one effect that is allowed.
func (e *Effect) add(kind, value string) error {
	var twice bool
	switch kind {
	case "delay":
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 {
			return fmt.Errorf("%q is no delay such as delay:5ms", value)
		}
		twice, e.Delay = e.Delay != 0, d
		value = ""
	case "partial":
		n, err := strconv.ParseUint(value, 10, 63)
		if err != nil {
			return fmt.Errorf("%q is no number of bytes such as partial:64", value)
		}
		twice, e.Partial, e.Bytes = e.Partial, true, n
		value = ""
	case "lost":
		twice, e.Lost = e.Lost, true
	case "sever":
		twice, e.Sever = e.Sever, true
	default:
		if s := slices.Index(StatusNames[:], kind); s > 0 {
			twice, e.Status = e.Status != 0, int32(s)
			break
		}
		if f := slices.Index(packetNames[:], kind); f > 0 {
			twice, e.Packet = e.Packet != Unharmed, PacketFate(f)
			break
		}
		if errno := errnoByName()[kind]; errno != 0 {
			twice, e.Errno = e.Errno != 0, errno
			break
		}
		twice, e.Result = e.Result != 0, resultByName()[kind]
	}
	if value != "" {
		return fmt.Errorf("%s takes no value", kind)
	}
	if twice {
		return errors.New("a call has one outcome and one delay")
	}
	return nil
}

// resultByName has the results of all commands.
var resultByName = sync.OnceValue(func() map[string]vk.Result {
	m := map[string]vk.Result{}
	for _, r := range commandResults {
		m[r.String()] = r
	}
	return m
})

// parseConditions reads what stands in brackets.
func parseConditions(text string, command *Command, target string) (list []Condition, err error) {
	if text == "" {
		return nil, nil
	}
	keys := []string{"name"}
	if command == nil && (target == "rdma.packet" || isFunction(target)) {
		return nil, fmt.Errorf("%s has no conditions", target)
	}
	if command != nil && command.Memory {
		keys = append(keys, "heap", "type")
	}
	if command != nil && command.Handle {
		keys = append(keys, "handle")
	}
	for word := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(word), "=")
		c := Condition{Key: key, Text: value}
		if !slices.Contains(keys, key) {
			return nil, fmt.Errorf("%s has no %q; the nearest is %s", target, key, nearest(key, keys))
		}
		switch key {
		case "heap", "type":
			n, err := strconv.ParseUint(value, 10, 8)
			if err != nil {
				return nil, fmt.Errorf("%s %q is no index", key, value)
			}
			c.Number, c.Text = uint32(n), ""
		case "handle":
			if c.Text = ShortHandle(value); !slices.Contains(handleNames(), c.Text) {
				return nil, fmt.Errorf("there is no handle type %q; the nearest is %s", value, nearest(c.Text, handleNames()))
			}
		case "name":
			if _, err := path.Match(value, ""); err != nil || value == "" {
				return nil, fmt.Errorf("%q is no pattern of names", value)
			}
		}
		list = append(list, c)
	}
	return list, nil
}

// ShortHandle is OPAQUE_FD for VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, and so on.
func ShortHandle(name string) string {
	if _, rest, ok := strings.Cut(name, "_HANDLE_TYPE_"); ok {
		name = rest
	}
	name, _, _ = strings.Cut(name, "_BIT")
	return name
}

// handleNames are the types of external handles that there are.
var handleNames = sync.OnceValue(func() (names []string) {
	for bit := range 32 {
		for _, s := range []string{vk.ExternalMemoryHandleTypeFlags(1 << bit).String(),
			vk.ExternalSemaphoreHandleTypeFlags(1 << bit).String(), vk.ExternalFenceHandleTypeFlags(1 << bit).String()} {
			if n := ShortHandle(s); strings.HasPrefix(s, "VK_") && !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names
})

// parseSelector reads what stands behind the @.
func parseSelector(text string) (s Selector, err error) {
	for word := range strings.SplitSeq(text, ",") {
		if err := s.add(strings.TrimSpace(word)); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (s *Selector) add(word string) (err error) {
	kind, value, _ := strings.Cut(word, ":")
	switch {
	case kind == "every" && s.Every == 0:
		if s.Every, err = strconv.ParseUint(value, 10, 63); err != nil || s.Every == 0 {
			return fmt.Errorf("%q is no number of calls such as every:10", value)
		}
		return nil
	case kind == "after" && s.After == 0:
		if s.After, err = time.ParseDuration(value); err != nil || s.After <= 0 {
			return fmt.Errorf("%q is no time such as after:1s", value)
		}
		return nil
	case strings.HasPrefix(word, "p") && !s.Random:
		s.Random = true
		s.Probability, err = strconv.ParseFloat(word[1:], 64)
		if err != nil || !(s.Probability >= 0 && s.Probability <= 1) { // NaN included
			return fmt.Errorf("%q is no probability from p0 to p1", word)
		}
		return nil
	case word != "" && word[0] >= '0' && word[0] <= '9' && s.First == 0:
		first, last, span := strings.Cut(word, "..")
		if s.First, err = strconv.ParseUint(first, 10, 63); err == nil {
			switch {
			case !span:
				s.Last = s.First
			case last != "":
				s.Last, err = strconv.ParseUint(last, 10, 63)
			}
		}
		if err != nil || s.First == 0 || s.Last != 0 && s.Last < s.First || span && last != "" && s.Last == 0 {
			return fmt.Errorf("%q is no number of a call; 3, 3..5 and 3.. are", word)
		}
		return nil
	}
	return fmt.Errorf("%q does not say which calls, or says it again: 3, 3..5, every:10, p0.01 and after:1s do", word)
}
