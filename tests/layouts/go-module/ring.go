package ring

func Turn(n, size int) int {
	return ((n % size) + size) % size
}
