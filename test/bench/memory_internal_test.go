package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/test/bench/figure"
)

func TestTheBudgetIsWhatIsMeasuredAndAQuarter(t *testing.T) {
	t.Parallel()

	const mebibyte = 1 << 20

	most := figure.Of(figure.Bytes, 100*mebibyte, 144*mebibyte)
	require.EqualValues(t, 512*mebibyte, budgetFor(most), "of the worst, with what it takes more, up to a full step")
}
