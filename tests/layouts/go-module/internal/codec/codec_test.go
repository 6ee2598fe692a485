package codec

import (
	"testing"

	"pgregory.net/rapid"
)

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		if Write(Read(text)) != text {
			t.Fatal(text)
		}
	})
}
