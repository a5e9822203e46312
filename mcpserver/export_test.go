package mcpserver

import "time"

// Tests look at subscribed files more often than users need.
func init() { subscriptionPeriod = 100 * time.Millisecond }
