package verbs

import (
	"sync"

	"farside/internal/cabi"
	"farside/internal/ibv"
)

// The texts are those of rdma-core, which scripts look for. The last one of each stands for all other numbers.
var (
	nodeTypes = sync.OnceValue(func() *constants {
		return newConstants("unknown", "InfiniBand channel adapter", "InfiniBand switch", "InfiniBand router", "iWARP NIC",
			"usNIC", "usNIC UDP", "unspecified", "unknown")
	})
	portStates = sync.OnceValue(func() *constants {
		return newConstants("no state change (NOP)", "down", "init", "armed", "active", "active defer", "unknown")
	})
	eventTypes = sync.OnceValue(func() *constants {
		return newConstants("CQ error", "local work queue catastrophic error", "invalid request local work queue error",
			"local access violation work queue error", "communication established", "send queue drained", "path migrated",
			"path migration request error", "local catastrophic error", "port active", "port error", "LID change",
			"P_Key change", "SM change", "SRQ catastrophic error", "SRQ limit reached", "last WQE reached",
			"client reregistration", "GID table change", "WQ fatal", "unknown")
	})
	wcStatuses = sync.OnceValue(func() *constants {
		return newConstants("success", "local length error", "local QP operation error",
			"local EE context operation error", "local protection error", "Work Request Flushed Error",
			"memory management operation error", "bad response error", "local access error", "remote invalid request error",
			"remote access error", "remote operation error", "transport retry counter exceeded",
			"RNR retry counter exceeded", "local RDD violation error", "remote invalid RD request", "aborted error",
			"invalid EE context number", "invalid EE context state", "fatal error", "response timeout error",
			"general error", "TM error", "TM software rendezvous", "unknown")
	})
	cmEvents = sync.OnceValue(func() *constants {
		return newConstants("RDMA_CM_EVENT_ADDR_RESOLVED", "RDMA_CM_EVENT_ADDR_ERROR", "RDMA_CM_EVENT_ROUTE_RESOLVED",
			"RDMA_CM_EVENT_ROUTE_ERROR", "RDMA_CM_EVENT_CONNECT_REQUEST", "RDMA_CM_EVENT_CONNECT_RESPONSE",
			"RDMA_CM_EVENT_CONNECT_ERROR", "RDMA_CM_EVENT_UNREACHABLE", "RDMA_CM_EVENT_REJECTED",
			"RDMA_CM_EVENT_ESTABLISHED", "RDMA_CM_EVENT_DISCONNECTED", "RDMA_CM_EVENT_DEVICE_REMOVAL",
			"RDMA_CM_EVENT_MULTICAST_JOIN", "RDMA_CM_EVENT_MULTICAST_ERROR", "RDMA_CM_EVENT_ADDR_CHANGE",
			"RDMA_CM_EVENT_TIMEWAIT_EXIT", "UNKNOWN EVENT")
	})
)

// named is a verb that gives the text of its first argument, a C enumerator.
func named(texts func() *constants) func(*cabi.Call) {
	return func(c *cabi.Call) { c.Result = texts().get(int(c.Int(0))) }
}

// rates are the values of enum ibv_rate: as multiples of 2.5 Gbit/s, 0 for those that are none, and in Mbit/s.
var rates = []struct {
	rate       ibv.Rate
	mult, mbps int32
}{
	{ibv.RATE_2_5_GBPS, 1, 2500}, {ibv.RATE_5_GBPS, 2, 5000}, {ibv.RATE_10_GBPS, 4, 10000},
	{ibv.RATE_20_GBPS, 8, 20000}, {ibv.RATE_30_GBPS, 12, 30000}, {ibv.RATE_40_GBPS, 16, 40000},
	{ibv.RATE_60_GBPS, 24, 60000}, {ibv.RATE_80_GBPS, 32, 80000}, {ibv.RATE_120_GBPS, 48, 120000},
	{ibv.RATE_14_GBPS, 0, 14062}, {ibv.RATE_56_GBPS, 0, 56250}, {ibv.RATE_112_GBPS, 0, 112500},
	{ibv.RATE_168_GBPS, 0, 168750}, {ibv.RATE_25_GBPS, 0, 25781}, {ibv.RATE_100_GBPS, 0, 103125},
	{ibv.RATE_200_GBPS, 0, 206250}, {ibv.RATE_300_GBPS, 0, 309375}, {ibv.RATE_28_GBPS, 11, 28125},
	{ibv.RATE_50_GBPS, 20, 53125}, {ibv.RATE_400_GBPS, 160, 425000}, {ibv.RATE_600_GBPS, 240, 637500},
	{ibv.RATE_800_GBPS, 320, 850000}, {ibv.RATE_1200_GBPS, 480, 1275000},
}

func rateToMult(rate ibv.Rate) int32 {
	for _, r := range rates {
		if r.rate == rate && r.mult != 0 {
			return r.mult
		}
	}
	return -1
}

func rateToMbps(rate ibv.Rate) int32 {
	for _, r := range rates {
		if r.rate == rate {
			return r.mbps
		}
	}
	return -1
}

func multToRate(mult int32) ibv.Rate {
	for _, r := range rates {
		if r.mult == mult && mult != 0 {
			return r.rate
		}
	}
	return ibv.RATE_MAX
}

func mbpsToRate(mbps int32) ibv.Rate {
	for _, r := range rates {
		if r.mbps == mbps {
			return r.rate
		}
	}
	return ibv.RATE_MAX
}
