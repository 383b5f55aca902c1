# Python: all events since the last run, then each new one.
import json, os, pathlib, urllib.request

cursor = pathlib.Path("cursor")
while True:
    after = f"&after={cursor.read_text()}" if cursor.exists() else ""
    request = urllib.request.Request(f"{os.environ['HOOKSWITCH_BASE_URL']}/event?wait=20{after}")
    request.add_header("Authorization", f"Bearer {os.environ['HOOKSWITCH_TOKEN']}")
    result = json.load(urllib.request.urlopen(request))["result"]
    for item in result["items"]:
        print(item["event"], item["id"], item["call_id"], flush=True)  # item["body"] has the event
    cursor.write_text(result["next_cursor"])  # once all of them are handled
