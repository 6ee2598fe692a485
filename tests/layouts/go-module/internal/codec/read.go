package codec

func Read(text string) []byte {
	return []byte(text)
}
