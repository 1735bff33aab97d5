package spirv

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mutate changes an operand, the opcode or the place of an instruction.
func mutate(random *rand.Rand, words []uint32) []uint32 {
	if random.IntN(2) == 0 {
		return mutateGently(random, words)
	}
	var starts []int
	for at := headerWords; at < len(words); at += int(words[at] >> 16) {
		starts = append(starts, at)
	}
	words = slices.Clone(words)
	at := starts[random.IntN(len(starts))]
	n := int(words[at] >> 16)
	switch kind := random.IntN(10); {
	case kind < 7 && n > 1:
		operand := at + 1 + random.IntN(n-1)
		switch random.IntN(4) {
		case 0:
			words[operand]++
		case 1:
			words[operand] ^= 1 << random.IntN(8)
		case 2:
			words[operand] = random.Uint32N(words[3])
		case 3:
			words[operand] = words[min(starts[random.IntN(len(starts))]+1, len(words)-1)]
		}
	case kind == 7:
		words[at] = words[at]&0xffff0000 | words[starts[random.IntN(len(starts))]]&0xffff
	case kind == 8:
		words = slices.Delete(words, at, at+n)
	default:
		next := at + n
		if next < len(words) {
			m := int(words[next] >> 16)
			swapped := append(slices.Clone(words[next:next+m]), words[at:next]...)
			copy(words[at:], swapped)
		}
	}
	return words
}

// mutateGently puts another id in the place of one in a function: of an object or a label, a type or a constant.
func mutateGently(random *rand.Rand, words []uint32) []uint32 {
	m, err := Decode(slices.Clone(words))
	if err != nil || len(m.Functions) == 0 {
		return words
	}
	var list []*Instruction
	for _, f := range m.Functions {
		for _, b := range f.Blocks {
			list = append(list, b.Label)
			list = append(list, b.Instructions...)
			if b.Merge != nil {
				list = append(list, b.Merge)
			}
			list = append(list, b.Terminator)
		}
	}
	words = slices.Clone(words)
	i := list[random.IntN(len(list))]
	n := int(words[i.Offset] >> 16)
	if n < 2 {
		return words
	}
	at := int(i.Offset) + 1 + random.IntN(n-1)
	old := words[at]
	if int64(old) >= int64(len(m.Definitions)) || m.Definitions[old] == nil {
		return words
	}
	// Something of the same kind: defined by the same instruction, or of the same type.
	var like []uint32
	for id, def := range m.Definitions {
		if def != nil && uint32(id) != old && (def.Op == m.Definitions[old].Op || def.Type != 0 &&
			def.Type == m.Definitions[old].Type) {
			like = append(like, uint32(id))
		}
	}
	if len(like) > 0 {
		words[at] = like[random.IntN(len(like))]
	}
	return words
}

// TestMutations compares with spirv-val on modules that one change or two have made wrong, mostly. The two need not
// agree on all: what each knows and the other does not is looked at by hand, with FARSIDE_MUTATIONS=5000 to see more.
func TestMutations(t *testing.T) {
	count := 150
	if n, err := strconv.Atoi(os.Getenv("FARSIDE_MUTATIONS")); err == nil {
		count = n
	}
	seed := uint64(7)
	if n, err := strconv.Atoi(os.Getenv("FARSIDE_SEED")); err == nil {
		seed = uint64(n)
	}
	random := rand.New(rand.NewPCG(seed, 1))
	all := shaders(t)
	var names []string
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	env := everything()
	accepted, refused, tooLax, tooStrict := 0, 0, 0, 0
	for range count {
		name := names[random.IntN(len(names))]
		words := mutate(random, all[name])
		if random.IntN(3) == 0 {
			words = mutate(random, words)
		}
		var ours string
		m, err := Decode(words)
		if err == nil {
			err = m.Check(env)
		}
		if err != nil {
			ours = err.Error()
		}
		theirs := validate(t, words)
		switch {
		case ours == "" && theirs == "":
			accepted++
		case ours != "" && theirs != "":
			refused++
		case ours == "":
			tooLax++
			t.Logf("%s: only spirv-val refuses: %s", name, strings.SplitN(theirs, "\n", 2)[0])
		default:
			tooStrict++
			t.Logf("%s: only Check refuses: %s", name, ours)
		}
	}
	t.Logf("both accept %d, both refuse %d, only spirv-val refuses %d, only Check refuses %d", accepted, refused, tooLax,
		tooStrict)
	if tooLax > count/20 || tooStrict > count/20 || accepted < count/20 || refused < count/3 {
		t.Error("the two disagree too often")
	}
}
