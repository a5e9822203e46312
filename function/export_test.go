package function

// The limits that only tests name.
const (
	MaxCalls  = maxCalls
	MaxOutput = maxOutput
)
