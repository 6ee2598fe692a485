package codec

func Write(data []byte) string {
	return string(data)
}
