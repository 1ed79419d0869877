package docs_test

import (
	"os"
	"testing"

	"github.com/lessor-dev/lessor/internal/localaws/emulator/emulatortest"
)

func TestMain(m *testing.M) { os.Exit(emulatortest.Main(m)) }
