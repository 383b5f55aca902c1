<?php // All events since the last run, then each new one.
$context = stream_context_create(['http' => ['header' => 'Authorization: Bearer ' . getenv('HOOKSWITCH_TOKEN')]]);
while (true) {
    $after = is_file('cursor') ? '&after=' . file_get_contents('cursor') : '';
    $answer = file_get_contents(getenv('HOOKSWITCH_BASE_URL') . "/event?wait=20$after", false, $context);
    if ($answer === false) throw new Exception('Hookswitch does not answer, or refuses: check the token and the cursor');
    $result = json_decode($answer, true)['result'];
    foreach ($result['items'] as $item) echo "{$item['event']} {$item['id']} {$item['call_id']}\n"; // ['body'] has the event
    file_put_contents('cursor', $result['next_cursor']); // once all of them are handled
}
