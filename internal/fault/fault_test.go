package fault

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"farside/internal/config"
	"farside/internal/vk"
)

// parse reads a plan that must be right.
func parse(t testing.TB, text string) *Plan {
	t.Helper()
	p, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	p.start()
	return p
}

// TestParse: what is read is printed in the one form that is read again.
func TestParse(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"vkAllocateMemory=VK_ERROR_OUT_OF_DEVICE_MEMORY@3", ""},
		{"vkAllocateMemory[heap=0,type=1,handle=OPAQUE_FD,name=big*]=VK_ERROR_OUT_OF_DEVICE_MEMORY@3..5", ""},
		{"vkGetMemoryFdKHR=VK_ERROR_TOO_MANY_OBJECTS@p0.01; seed=42", ""},
		{"vkMapMemory2KHR=VK_ERROR_MEMORY_MAP_FAILED", "vkMapMemory2=VK_ERROR_MEMORY_MAP_FAILED"},
		{"vkAllocateDescriptorSets=VK_ERROR_OUT_OF_POOL_MEMORY_KHR", "vkAllocateDescriptorSets=VK_ERROR_OUT_OF_POOL_MEMORY"},
		{"vkQueueSubmit = delay:1500us + VK_ERROR_DEVICE_LOST @ every:10 , 20..",
			"vkQueueSubmit=delay:1.5ms+VK_ERROR_DEVICE_LOST@20..,every:10"},
		{"vkDestroyFence=delay:1ms", ""},
		{"queue=lost@dispatch:7", "queue.dispatch=lost@7"},
		{"queue=lost@7", "queue.submit=lost@7"},
		{"queue.copy[name=transfer]=delay:5ms@p1", "queue.copy[name=transfer]=delay:5ms@p1; seed=SEED"},
		{"rdma.write=delay:5ms@p0.1; rdma=sever@after:1s; seed=0x2a",
			"rdma.write=delay:5ms@p0.1; rdma=sever@after:1s; seed=42"},
		{"rdma=IBV_WC_RETRY_EXC_ERR@write:3", "rdma.write=IBV_WC_RETRY_EXC_ERR@3"},
		{"rdma.write=partial:64+IBV_WC_REM_OP_ERR@1", ""},
		{"rdma.recv=delay:1ms+IBV_WC_LOC_PROT_ERR@2", ""},
		{"rdma=drop@packet:3; rdma.packet=duplicate; rdma=reorder@p0.5; seed=1",
			"rdma.packet=drop@3; rdma.packet=duplicate; rdma=reorder@p0.5; seed=1"},
		{"ibv_reg_mr=ENOMEM@2; ibv_poll_cq=delay:1ms; rdma_connect=delay:2ms+ECONNREFUSED", ""},
		{"vkCreateFence[handle=VK_EXTERNAL_FENCE_HANDLE_TYPE_SYNC_FD_BIT]=VK_ERROR_UNKNOWN",
			"vkCreateFence[handle=SYNC_FD]=VK_ERROR_UNKNOWN"},
		{"# a comment\nqueue=lost@3 # another\n\nseed=1;", "queue.submit=lost@3; seed=1"},
	} {
		p := parse(t, row.text)
		want := row.want
		if want == "" {
			want = row.text
		}
		want = strings.ReplaceAll(want, "SEED", uintText(p.Seed))
		if diff := cmp.Diff(want, p.String()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", row.text, diff)
		}
		if again, err := Parse(p.String()); err != nil || again.String() != p.String() {
			t.Errorf("%q is read again as %v, %v", p, again, err)
		}
	}
}

func uintText(n uint64) string {
	p := Plan{Seed: n, Seeded: true}
	return strings.TrimPrefix(p.String(), "seed=")
}

// TestMistakes: an error names the nearest right word, or says what is allowed.
func TestMistakes(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"vkAlocateMemory=VK_ERROR_UNKNOWN", "the nearest is vkAllocateMemory"},
		{"vkAllocateMemory=VK_ERROR_OUT_OF_DEVICE_MEMROY", "the nearest is VK_ERROR_OUT_OF_DEVICE_MEMORY"},
		{"vkAllocateMemory=VK_ERROR_DEVICE_LOST", "the registry does not allow vkAllocateMemory to return"},
		{"vkAllocateMemory=VK_SUCCESS", "the registry does not allow"},
		{"vkDestroyFence=VK_ERROR_UNKNOWN", "the nearest is delay"},
		{"vkAllocateMemory[heep=1]=VK_ERROR_UNKNOWN", "the nearest is heap"},
		{"vkCreateFence[heap=1]=VK_ERROR_UNKNOWN", `vkCreateFence has no "heap"`},
		{"vkAllocateMemory[handle=OPAQ_FD]=VK_ERROR_UNKNOWN", "the nearest is OPAQUE_FD"},
		{"vkAllocateMemory[name=[]=VK_ERROR_UNKNOWN", "is no pattern"},
		{"vkAllocateMemory[heap=0=VK_ERROR_UNKNOWN", "a [ without its ]"},
		{"vkCmdDispatch=delay:1ms", "it is recorded"},
		{"vkCreateSharedSwapchainsKHR=VK_ERROR_UNKNOWN", "the driver does not have it"},
		{"queu=lost", "the nearest is queue"},
		{"queue=sever", "the nearest is"},
		{"rdma.write=IBV_WC_RETRY_EXC_ER", "the nearest is IBV_WC_RETRY_EXC_ERR"},
		{"rdma.write=IBV_WC_SUCCESS", "can't have the effect"},
		{"rdma.serve=partial:3", "can't have the effect"},
		{"rdma.write=partial", "is no number of bytes"},
		{"rdma.write=sever+partial:1", "one outcome"},
		{"rdma.write=delay:0s", "is no delay"},
		{"rdma.write=sever:1", "takes no value"},
		{"queue=lost@", "does not say which calls"},
		{"queue=lost@0", "is no number of a call"},
		{"queue=lost@5..3", "is no number of a call"},
		{"queue=lost@p1.5", "is no probability"},
		{"queue=lost@pNaN", "is no probability"},
		{"queue=lost@3,4", "or says it again"},
		{"queue=lost@every:0", "is no number of calls"},
		{"queue=lost@after:x", "is no time"},
		{"seed=1; seed=2", "twice"},
		{"seed=x", "is no seed"},
		{"queue", "no = between"},
	} {
		if _, err := Parse(row.text); err == nil || !errors.Is(err, errGrammar) || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%q: %v; want %q", row.text, err, row.want)
		}
	}
}

// hits are the numbers of those of n calls of a target that get something.
func hits(p *Plan, target string, n int) (list []int) {
	for i := range n {
		if _, ok := p.At(target, nil); ok {
			list = append(list, i+1)
		}
	}
	return list
}

// TestSelectors: a selector picks the calls that it says.
func TestSelectors(t *testing.T) {
	for _, row := range []struct {
		selector string
		want     []int
	}{
		{"", []int{1, 2, 3, 4, 5, 6}}, {"@3", []int{3}}, {"@2..4", []int{2, 3, 4}}, {"@5..", []int{5, 6}},
		{"@every:2", []int{2, 4, 6}}, {"@3..,every:2", []int{4, 6}}, {"@p0", nil}, {"@p1", []int{1, 2, 3, 4, 5, 6}},
		{"@after:1h", nil}, {"@after:1ns,2", []int{2}},
	} {
		if diff := cmp.Diff(row.want, hits(parse(t, "queue.submit=lost"+row.selector), "queue.submit", 6)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", row.selector, diff)
		}
	}
}

// TestProbability: the same seed gives the same faults, another seed and another rule others, and as many as asked.
func TestProbability(t *testing.T) {
	const text = "rdma.write=sever@p0.1; rdma.read=sever@p0.1; seed="
	p := parse(t, text+"42")
	one, reads := hits(p, "rdma.write", 10000), hits(p, "rdma.read", 10000)
	if diff := cmp.Diff(one, hits(parse(t, text+"42"), "rdma.write", 10000)); diff != "" {
		t.Errorf("the same seed (-first +second):\n%s", diff)
	}
	if cmp.Equal(one, hits(parse(t, text+"43"), "rdma.write", 10000)) {
		t.Error("another seed gives the same faults")
	}
	if cmp.Equal(one, reads) {
		t.Error("two rules give the same faults")
	}
	if n := len(one); n < 900 || n > 1100 {
		t.Errorf("%d of 10000 with a probability of 0.1", n)
	}
}

// TestOrder: delays add up until a rule ends the call; rules behind that one don't count it.
func TestOrder(t *testing.T) {
	p := parse(t, "rdma=delay:1ms; rdma.write=delay:2ms+IBV_WC_REM_OP_ERR@2; rdma.write=sever@2; rdma=partial:3@2")
	got := []Effect{}
	for range 3 {
		i, _ := p.At("rdma.write", nil)
		got = append(got, i.Effect)
	}
	want := []Effect{{Delay: time.Millisecond}, {Delay: 3 * time.Millisecond, Status: 11},
		{Delay: time.Millisecond, Sever: true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if i, _ := p.At("rdma.atomic", nil); i.Partial {
		t.Error("an atomic is done in part")
	}
	if i, ok := p.At("vkAllocateMemory", nil); ok {
		t.Errorf("what no rule is about gets %v", i)
	}
}

// TestConditions: a call that lacks what a rule asks for is not counted by it.
func TestConditions(t *testing.T) {
	p := parse(t, "vkAllocateMemory[heap=1,name=x*]=VK_ERROR_OUT_OF_DEVICE_MEMORY@2")
	for n, heap := range []uint32{1, 0, 1, 1} {
		i, ok := p.At("vkAllocateMemory", func(c Condition) bool {
			return c == Condition{Key: "name", Text: "x*"} || c == Condition{Key: "heap", Number: heap}
		})
		if ok != (n == 2) || ok && i.Result != vk.ERROR_OUT_OF_DEVICE_MEMORY {
			t.Errorf("call %d: %v, %v", n+1, i, ok)
		}
	}
}

// TestLoad: a process has one plan for a text, which may be in a file, and a mistake in it is an error of the settings.
func TestLoad(t *testing.T) {
	settings := &config.Settings{Log: slog.LevelError, Faults: "queue=lost@2"}
	t.Cleanup(func() {
		if p, err := Load(&config.Settings{}); p != nil || err != nil {
			t.Errorf("no plan: %v, %v", p, err)
		}
	})
	one, err := Load(settings)
	if err != nil || one == nil {
		t.Fatal(one, err)
	}
	if two, err := Load(settings); two != one || err != nil {
		t.Errorf("again: another plan, %v", err)
	}
	file := filepath.Join(t.TempDir(), "a=b")
	if err := os.WriteFile(file, []byte("queue=lost@2\n# nothing\nrdma=sever\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	three, err := Load(&config.Settings{Log: slog.LevelError, Faults: file})
	if err != nil || three == one || three.String() != "queue.submit=lost@2; rdma=sever" || !three.Has("rdma") ||
		three.Has("vk") {
		t.Errorf("a file: %v, %v", three, err)
	}
	for _, wrong := range []string{"queue=lots", file + "x"} {
		if _, err := Load(&config.Settings{Faults: wrong}); !errors.Is(err, config.ErrSetting) ||
			!strings.Contains(err.Error(), wrong) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	if p, err := Load(&config.Settings{Faults: "seed=3"}); p != nil || err != nil {
		t.Errorf("a seed without rules: %v, %v", p, err)
	}
}

// FuzzParse: what is read can be printed and read again, and nothing panics.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"vkAllocateMemory[heap=0]=VK_ERROR_OUT_OF_DEVICE_MEMORY@3; seed=42",
		"queue=lost@dispatch:7", "rdma.write=partial:3+delay:5ms@p0.1,after:1s,2..9,every:3 # x", "a[=]=@",
		"vkQueueSubmit[name=*]=delay:1ms"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil {
			if !errors.Is(err, errGrammar) {
				t.Errorf("%v", err)
			}
			return
		}
		again, err := Parse(p.String())
		if err != nil || again.String() != p.String() {
			t.Errorf("%q is %q, then %v, %v", text, p, again, err)
		}
		for _, r := range p.Rules {
			p.At(r.Target, func(Condition) bool { return true })
		}
	})
}
