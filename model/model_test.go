package model_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/knack-dev/knack/model"
)

func TestAnswer(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"name\":\"skill\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer s.Close()
	c := model.New(model.Endpoint{URL: s.URL, Model: "m"}, model.Options{})
	a, err := c.Answer(t.Context(), model.Request{}, func(s string) { t.Log(s) })
	if err != nil || a.Message.Text != "Hi" || len(a.Message.Calls) != 1 || a.Message.Calls[0].ID != "call_1" {
		t.Fatalf("%+v, %v", a, err)
	}
	t.Logf("%s", a.Message.Raw)
}
