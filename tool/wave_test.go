package tool

import (
	"encoding/json"
	"testing"

	"github.com/knack-dev/knack/tool/wave"
)

// Arguments that cannot be read get an answer in the contract's words, too.
func TestWaveArguments(t *testing.T) {
	h := hostOf(t, project(map[string]string{"skill-1/SKILL.md": md("skill-1", "One")}))
	failed := func(name, message string) Result {
		e := "Error invoking skill '" + name + "': " + message + "\n\nAvailable skills:\n- skill-1: One"
		content := "Skill '" + name + "' is invalid: " + message + "\n\nFix by:\n- Give skill_name alone, as a string: the name of one of the available skills\n\nSkill will be available after fixing these issues."
		return waveAnswer{wave.ToolResult{Content: content, Error: e}}.result()
	}
	for _, row := range []struct {
		args any
		want Result
	}{
		{args{"skill_name": "skill-1"}, waveAnswer{wave.ToolResult{Success: true, Content: "Skill: skill-1 (Type: project)\nPath: /home/ana/shop/.claude/skills/skill-1\n\n" + md("skill-1", "One"), ShortResult: "skill-1: One"}}.result()},
		{args{"skill_name": 5}, failed("", "'skill_name' must be a string")},
		{"[]", failed("", "they must be one JSON object")},
	} {
		r := call(t, h, "wave", "Skill", row.args)
		same(t, r, row.want)
		data, err := json.Marshal(r.Object)
		same(t, err, nil)
		same(t, string(marshal(r.Object.(Object))), string(data))
	}
}
