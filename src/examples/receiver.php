<?php // Nothing to install: WEBHOOK_SECRET=whsec_… php -S 127.0.0.1:3000 receiver.php
$key = base64_decode(str_replace('whsec_', '', getenv('WEBHOOK_SECRET')));
$body = file_get_contents('php://input');
$id = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
$timestamp = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
$expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
$isGenuine = false;
// While a secret is being replaced there are two signatures.
foreach (explode(' ', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '') as $given) {
    $isGenuine = $isGenuine || hash_equals($expected, $given);
}
if (!$isGenuine || !ctype_digit($timestamp) || abs(time() - (int) $timestamp) >= 300) {
    http_response_code(401);
    exit;
}

// A file in place of your database, since PHP forgets everything after each request.
$file = getenv('STATE_FILE') ?: sys_get_temp_dir() . '/calls.json';
$lock = fopen("$file.lock", 'c');
flock($lock, LOCK_EX);
$state = is_file($file) ? json_decode(file_get_contents($file), true) : ['handled' => [], 'latest' => []];
$data = json_decode($body, true)['data'];
$call = $data['call']['id'] ?? null;
$sequence = $data['sequence'] ?? '';
// Each event has the whole call: one that comes late, after a retry, must not undo what is newer.
$isLate = $call !== null && $sequence < ($state['latest'][$call] ?? 0);
if (!isset($state['handled'][$id])) {
    file_put_contents('php://stdout', ($isLate ? 'late' : 'handle') . " {$data['name']} $sequence\n");
}
if ($call !== null && !$isLate) {
    $state['latest'][$call] = $sequence;
}
$state['handled'][$id] = true;
file_put_contents($file, json_encode($state));
