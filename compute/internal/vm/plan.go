package vm

import (
	"fmt"
	"strings"

	"farside/compute/internal/program"
)

var actionNames = [...]string{
	actKernel: "kernel", actOnce: "once", actScale: "scale", actMasked: "masked", actBased: "based",
	actBasedOnce: "based once", actDelayed: "delayed", actFlushed: "flushed", actDynamic: "dynamic",
	actPhysical: "physical", actJump: "jump", actJumpIf: "jump if", actJumpUnless: "jump unless", actSplit: "split",
	actNarrow: "narrow", actNarrowRound: "narrow round", actLeave: "leave", actStay: "stay", actRound: "round",
	actEnter: "enter", actAgain: "again", actBack: "back", actBackJump: "back jump", actEnded: "ended",
	actBarrier: "barrier", actNothing: "nothing", actImage: "image", actSubgroup: "subgroup", actPrint: "print",
	actLength: "length", actEnd: "end", actEffect: "effect", actPrefix: "prefix", actNative: "native",
	actRegion: "region",
}

// Plan is how a program is executed, as text: a step a line, with what it does and its operation. The steps of a run of
// machine code are not listed: "native", or "region", and where it goes on stand for them.
func (e *Engine) Plan(p *program.Program) (string, error) {
	if err := e.Prepare(p); err != nil {
		return "", err
	}
	return e.text(), nil
}

func (e *Engine) text() string {
	var b strings.Builder
	if e.rows {
		b.WriteString("one call of the code executes workgroups in rows\n")
	}
	for at := 0; at < len(e.steps); at++ {
		s := &e.steps[at]
		fmt.Fprintf(&b, "%5d %s", at, actionNames[s.act])
		switch {
		case s.act == actNative, s.act == actRegion:
			fmt.Fprintf(&b, " to %d", s.target)
			at = int(s.target) - 1
		case s.act == actEffect && s.inst.Op != 0:
			fmt.Fprintf(&b, " %s %v", actionNames[s.effect], s.inst.Op)
		case s.act == actEffect:
			fmt.Fprintf(&b, " %s", actionNames[s.effect])
		case s.inst.Op != 0:
			fmt.Fprintf(&b, " %v", s.inst.Op)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
