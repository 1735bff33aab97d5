package fault

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// StatusNames are the names of enum ibv_wc_status, by their numbers.
var StatusNames = [...]string{
	"IBV_WC_SUCCESS", "IBV_WC_LOC_LEN_ERR", "IBV_WC_LOC_QP_OP_ERR", "IBV_WC_LOC_EEC_OP_ERR", "IBV_WC_LOC_PROT_ERR",
	"IBV_WC_WR_FLUSH_ERR", "IBV_WC_MW_BIND_ERR", "IBV_WC_BAD_RESP_ERR", "IBV_WC_LOC_ACCESS_ERR",
	"IBV_WC_REM_INV_REQ_ERR", "IBV_WC_REM_ACCESS_ERR", "IBV_WC_REM_OP_ERR", "IBV_WC_RETRY_EXC_ERR",
	"IBV_WC_RNR_RETRY_EXC_ERR", "IBV_WC_LOC_RDD_VIOL_ERR", "IBV_WC_REM_INV_RD_REQ_ERR", "IBV_WC_REM_ABORT_ERR",
	"IBV_WC_INV_EECN_ERR", "IBV_WC_INV_EEC_STATE_ERR", "IBV_WC_FATAL_ERR", "IBV_WC_RESP_TIMEOUT_ERR",
	"IBV_WC_GENERAL_ERR", "IBV_WC_TM_ERR", "IBV_WC_TM_RNDV_INCOMPLETE",
}

// String is the plan as Parse reads it.
func (p *Plan) String() string {
	var words []string
	for _, r := range p.Rules {
		words = append(words, r.String())
	}
	if p.Seeded || p.random() {
		words = append(words, fmt.Sprintf("seed=%d", p.Seed))
	}
	return strings.Join(words, "; ")
}

// String is the rule as Parse reads it.
func (r *Rule) String() string {
	text := r.Target
	for i, c := range r.Conditions {
		sep := ","
		if i == 0 {
			sep = "["
		}
		if value := c.Text; c.Key == "heap" || c.Key == "type" {
			text += fmt.Sprintf("%s%s=%d", sep, c.Key, c.Number)
		} else {
			text += sep + c.Key + "=" + value
		}
	}
	if r.Conditions != nil {
		text += "]"
	}
	text += "=" + r.Effect.String()
	if s := r.Selector.String(); s != "" {
		text += "@" + s
	}
	return text
}

// String is the effect as Parse reads it.
func (e *Effect) String() string {
	var words []string
	add := func(have bool, word string) {
		if have {
			words = append(words, word)
		}
	}
	add(e.Delay != 0, "delay:"+e.Delay.String())
	add(e.Lost, "lost")
	add(e.Sever, "sever")
	add(e.Partial, "partial:"+strconv.FormatUint(e.Bytes, 10))
	add(e.Result != 0, e.Result.String())
	add(e.Status != 0, StatusNames[e.Status])
	add(e.Packet != Unharmed, e.Packet.String())
	add(e.Errno != 0, unix.ErrnoName(e.Errno))
	return strings.Join(words, "+")
}

// String is the selector as Parse reads it, empty for all calls.
func (s *Selector) String() string {
	var words []string
	add := func(have bool, word string) {
		if have {
			words = append(words, word)
		}
	}
	add(s.After != 0, "after:"+s.After.String())
	switch {
	case s.First == 0:
	case s.First == s.Last:
		words = append(words, strconv.FormatUint(s.First, 10))
	case s.Last == 0:
		words = append(words, strconv.FormatUint(s.First, 10)+"..")
	default:
		words = append(words, fmt.Sprintf("%d..%d", s.First, s.Last))
	}
	add(s.Every != 0, "every:"+strconv.FormatUint(s.Every, 10))
	add(s.Random, "p"+strconv.FormatFloat(s.Probability, 'g', -1, 64))
	return strings.Join(words, ",")
}
