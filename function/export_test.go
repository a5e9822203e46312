package function

// Limits that tests of package function_test use.
const (
	MaxCalls  = maxCalls
	MaxOutput = maxOutput
)
