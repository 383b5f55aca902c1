// Go, nothing to install: PORT=3000 WEBHOOK_SECRET=whsec_… go run receiver.go
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

type event struct {
	Data struct {
		Name     string
		Sequence int
		Call     *struct{ Id string }
	}
}

var key, _ = base64.StdEncoding.DecodeString(strings.TrimPrefix(os.Getenv("WEBHOOK_SECRET"), "whsec_"))

func isGenuine(header http.Header, body []byte) bool {
	timestamp := header.Get("webhook-timestamp")
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", header.Get("webhook-id"), timestamp, body)
	expected := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() >= 5*time.Minute {
		return false
	}
	// While a secret is being replaced there are two signatures.
	for _, given := range strings.Fields(header.Get("webhook-signature")) {
		if hmac.Equal([]byte(given), []byte(expected)) {
			return true
		}
	}
	return false
}

// Keep both in your database: they have to outlive this process.
var handled, latest = map[string]bool{}, map[string]int{}
var mutex sync.Mutex

func handle(id string, one event) {
	mutex.Lock()
	defer mutex.Unlock()
	data := one.Data
	// Each event has the whole call: one that comes late, after a retry, must not undo what is newer.
	isLate := data.Call != nil && data.Sequence < latest[data.Call.Id]
	if !handled[id] && isLate {
		fmt.Println("late", data.Name, data.Sequence)
	} else if !handled[id] {
		fmt.Println("handle", data.Name, data.Sequence)
	}
	if data.Call != nil && !isLate {
		latest[data.Call.Id] = data.Sequence
	}
	handled[id] = true
}

func main() {
	http.HandleFunc("/", func(response http.ResponseWriter, request *http.Request) {
		var one event
		body, err := io.ReadAll(request.Body)
		if err != nil || !isGenuine(request.Header, body) || json.Unmarshal(body, &one) != nil {
			response.WriteHeader(http.StatusUnauthorized)
			return
		}
		handle(request.Header.Get("webhook-id"), one)
	})
	panic(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
