package network

import (
	"testing"

	"farside/verbs/internal/netnstest"
)

func TestMain(m *testing.M) { netnstest.Run(m) }
