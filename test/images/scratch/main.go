// An MCP server over stdio as a static program, for an image without libc and shell.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ProtocolVersion string `json:"protocolVersion"`
		Name            string `json:"name"`
		Arguments       struct {
			Text string `json:"text"`
			Name string `json:"name"`
		} `json:"arguments"`
	} `json:"params"`
}

type object map[string]any

var tools = []object{
	{"name": "echo", "description": "Answers with the text it was given", "inputSchema": schema("text")},
	{"name": "environment", "description": "The value of an environment variable", "inputSchema": schema("name")},
	{"name": "folder", "description": "What lies in a folder of this container", "inputSchema": schema("name")},
}

func schema(property string) object {
	return object{"type": "object", "properties": object{property: object{"type": "string"}}, "required": []string{property}}
}

func main() {
	lines := bufio.NewReader(os.Stdin)
	answers := json.NewEncoder(os.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var request message
		if json.Unmarshal(line, &request) != nil || len(request.ID) == 0 || request.Method == "" {
			continue
		}
		answer := object{"jsonrpc": "2.0", "id": request.ID}
		if result := resultOf(request); result != nil {
			answer["result"] = result
		} else {
			answer["error"] = object{"code": -32601, "message": "cannot answer " + request.Method}
		}
		if answers.Encode(answer) != nil {
			return
		}
	}
}

func resultOf(request message) object {
	switch request.Method {
	case "initialize":
		info := object{"name": "scratch", "version": "1.0.0"}
		version := request.Params.ProtocolVersion
		return object{"protocolVersion": version, "capabilities": object{"tools": object{}}, "serverInfo": info}
	case "ping":
		return object{}
	case "tools/list":
		return object{"tools": tools}
	case "tools/call":
		return call(request)
	}
	return nil
}

func call(request message) object {
	arguments := request.Params.Arguments
	switch request.Params.Name {
	case "echo":
		return text(arguments.Text, false)
	case "environment":
		return text(os.Getenv(arguments.Name), false)
	case "folder":
		entries, err := os.ReadDir(arguments.Name)
		if err != nil {
			return text(err.Error(), true)
		}
		names := []string{}
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		return text(fmt.Sprint(names), false)
	}
	return text("there is no tool "+request.Params.Name, true)
}

func text(value string, failed bool) object {
	return object{"content": []object{{"type": "text", "text": value}}, "isError": failed}
}
