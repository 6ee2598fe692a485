package ring

import "testing"

func FuzzTurn(f *testing.F) {
	f.Fuzz(func(t *testing.T, n int) {
		if got := Turn(n, 7); got < 0 || got > 6 {
			t.Fatal(got)
		}
	})
}
