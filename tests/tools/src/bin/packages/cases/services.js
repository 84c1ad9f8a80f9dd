// Clients of services, against the echo server in their place.

//= @slack/web-api
const { WebClient } = require('@slack/web-api');
const check = async () => {
  const echoed = await new WebClient('xoxb-token').chat.postMessage({ channel: 'C1', text: 'hi & bye' });
  return echoed.ok && echoed.path === '/api/chat.postMessage' && echoed.headers.authorization === 'Bearer xoxb-token' && echoed.body.includes('text=hi');
};

//= googleapis
const { google } = require('googleapis');
const check = async () => {
  const auth = new google.auth.OAuth2();
  auth.setCredentials({ access_token: 'token' });
  const { data } = await google.sheets({ version: 'v4', auth }).spreadsheets.values.get({ spreadsheetId: 's1', range: 'A1:B2' });
  return data.path === '/v4/spreadsheets/s1/values/A1%3AB2' && data.headers.authorization === 'Bearer token';
};

//= @googleapis/gmail
const { gmail, auth } = require('@googleapis/gmail');
const check = async () => {
  const client = new auth.OAuth2();
  client.setCredentials({ access_token: 'token' });
  const { data } = await gmail({ version: 'v1', auth: client }).users.messages.list({ userId: 'me', q: 'is:unread' });
  return data.path === '/gmail/v1/users/me/messages?q=is%3Aunread';
};

//= aws-sdk
const AWS = require('aws-sdk');
const check = async () => {
  const s3 = new AWS.S3({ accessKeyId: 'AKIA', secretAccessKey: 'secret', region: 'eu-west-1' });
  const { Body } = await s3.getObject({ Bucket: 'bucket', Key: 'folder/key.txt' }).promise();
  const echoed = JSON.parse(Body.toString());
  const dynamo = await new AWS.DynamoDB({ accessKeyId: 'AKIA', secretAccessKey: 'secret', region: 'eu-west-1' }).listTables().promise();
  return echoed.path.endsWith('/folder/key.txt') && echoed.headers.authorization.startsWith('AWS4-HMAC-SHA256') && typeof dynamo === 'object';
};

//= @aws-sdk/client-s3
const { S3Client, GetObjectCommand, PutObjectCommand } = require('@aws-sdk/client-s3');
const check = async () => {
  const client = new S3Client({ region: 'eu-west-1', credentials: { accessKeyId: 'AKIA', secretAccessKey: 'secret' } });
  const { Body } = await client.send(new GetObjectCommand({ Bucket: 'bucket', Key: 'a.txt' }));
  const echoed = JSON.parse(await Body.transformToString());
  const put = await client.send(new PutObjectCommand({ Bucket: 'bucket', Key: 'b.txt', Body: 'text' }));
  return echoed.path.startsWith('/a.txt') && echoed.headers.authorization.startsWith('AWS4-HMAC-SHA256') && put.$metadata.httpStatusCode === 200;
};

//= @aws-sdk/client-sqs
const { SQSClient, SendMessageCommand } = require('@aws-sdk/client-sqs');
const check = async () => {
  const client = new SQSClient({ region: 'us-east-1', credentials: { accessKeyId: 'AKIA', secretAccessKey: 'secret' } });
  const sent = await client.send(new SendMessageCommand({ QueueUrl: 'https://sqs.us-east-1.amazonaws.com/1/q', MessageBody: 'hello' }));
  return sent.$metadata.httpStatusCode === 200;
};

//= stripe
const Stripe = require('stripe');
const check = async () => {
  const stripe = new Stripe('sk_test_x');
  const echoed = await stripe.customers.create({ email: 'a@b.test', metadata: { key: 'value' } });
  const payload = JSON.stringify({ id: 'evt_1', object: 'event' });
  const header = stripe.webhooks.generateTestHeaderString({ payload, secret: 'whsec_x' });
  return echoed.path === '/v1/customers' && echoed.body.includes('metadata[key]=value') && stripe.webhooks.constructEvent(payload, header, 'whsec_x').id === 'evt_1';
};

//= twilio
const twilio = require('twilio');
const check = async () => {
  const message = await twilio('AC' + '0'.repeat(32), 'token').messages.create({ to: '+1', from: '+2', body: 'hello' });
  const response = new twilio.twiml.VoiceResponse();
  response.say('hello');
  return message.body.includes('Body=hello') && response.toString().includes('<Say>hello</Say>');
};

//= @octokit/core
const { Octokit } = require('@octokit/core');
const check = async () => {
  const { data } = await new Octokit({ auth: 'token' }).request('POST /repos/{owner}/{repo}/issues', { owner: 'o', repo: 'r', title: 't' });
  return data.path === '/repos/o/r/issues' && data.json.title === 't' && data.headers.authorization === 'token token';
};

//= @octokit/rest
import { Octokit } from '@octokit/rest';
const check = async () => {
  const { data } = await new Octokit({ auth: 'token' }).rest.repos.get({ owner: 'o', repo: 'r' });
  return data.path === '/repos/o/r';
};

//= shopify-api-node
const Shopify = require('shopify-api-node');
const check = async () => {
  const orders = await new Shopify({ shopName: 'shop', accessToken: 'token' }).order.list({ limit: 5 });
  return Array.isArray(orders) && orders[0].name === 'echoed';
};

//= airtable
const Airtable = require('airtable');
const check = async () => {
  const records = await new Airtable({ apiKey: 'key' }).base('app1')('Table 1').select({ maxRecords: 3 }).firstPage();
  return records.length === 1 && records[0].get('Name') === 'echoed';
};

//= nodemailer
const nodemailer = require('nodemailer');
const check = async () => {
  const transport = nodemailer.createTransport({ streamTransport: true, buffer: true });
  const { message } = await transport.sendMail({ from: 'a@b.test', to: 'c@d.test', subject: 'Grüße', text: 'hello', attachments: [{ filename: 'a.txt', content: 'x' }] });
  return message.toString().includes('Subject: =?UTF-8?Q?Gr=C3=BC=C3=9Fe?=') && message.toString().includes('multipart/mixed');
};

//= openai
const OpenAI = require('openai');
const check = async () => {
  const client = new OpenAI({ apiKey: 'sk-x' });
  const echoed = await client.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'hi' }] });
  return echoed.path === '/v1/chat/completions' && echoed.json.messages[0].content === 'hi' && echoed.headers.authorization === 'Bearer sk-x';
};

//= @anthropic-ai/sdk
const Anthropic = require('@anthropic-ai/sdk');
const check = async () => {
  const echoed = await new Anthropic({ apiKey: 'key' }).messages.create({ model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'hi' }] });
  return echoed.path === '/v1/messages' && (echoed.headers['x-api-key'] ?? echoed.headers.authorization).endsWith('key');
};

//= @notionhq/client
const { Client } = require('@notionhq/client');
const check = async () => {
  const echoed = await new Client({ auth: 'secret' }).pages.retrieve({ page_id: 'p1' });
  return echoed.path === '/v1/pages/p1' && echoed.headers.authorization === 'Bearer secret';
};

//= @sendgrid/mail
const mail = require('@sendgrid/mail');
const check = async () => {
  mail.setApiKey('SG.key');
  const [response] = await mail.send({ to: 'a@b.test', from: 'c@d.test', subject: 's', text: 't' });
  return response.statusCode === 200 && response.body.json.subject === 's';
};

//= mailgun.js
const Mailgun = require('mailgun.js');
const check = async () => {
  const client = new (Mailgun.default ?? Mailgun)(require('form-data')).client({ username: 'api', key: 'key' });
  return (await client.messages.create('mail.test', { from: 'a@b.test', to: ['c@d.test'], subject: 's', text: 't' })).status === 200;
};

//= @hubspot/api-client
const { Client } = require('@hubspot/api-client');
const check = async () => {
  const client = new Client({ accessToken: 'token' });
  const response = await client.apiRequest({ method: 'GET', path: '/crm/v3/objects/contacts' });
  return (await response.json()).path.startsWith('/crm/v3/objects/contacts');
};

//= @linear/sdk
const { LinearClient } = require('@linear/sdk');
const check = async () => (await new LinearClient({ apiKey: 'key' }).client.rawRequest('query { viewer { id } }')).data.item.id === 'i1';

//= @supabase/supabase-js
const { createClient } = require('@supabase/supabase-js');
const check = async () => {
  const { data } = await createClient('https://project.supabase.co', 'key').from('rows').select('*').eq('id', 1);
  return data.path === '/rest/v1/rows?select=*&id=eq.1' && data.headers.apikey === 'key';
};

//= @google-cloud/storage
const { Storage } = require('@google-cloud/storage');
const check = async () => {
  const [metadata] = await new Storage({ projectId: 'p', token: 't', apiEndpoint: 'https://storage.googleapis.com', useAuthWithCustomEndpoint: false }).bucket('b').getMetadata();
  return metadata.path.startsWith('/storage/v1/b/b');
};

//= google-auth-library
const { JWT } = require('google-auth-library');
const { pem } = require('./key.json');
const check = async () => {
  const client = new JWT({ email: 'a@b.test', key: pem, scopes: ['s'] });
  const { access_token } = await client.authorize();
  return access_token === 'echoed-token';
};

//= firebase-admin
const { initializeApp } = require('firebase-admin/app');
const { getMessaging } = require('firebase-admin/messaging');
const check = async () => {
  const app = initializeApp({ projectId: 'p', credential: { getAccessToken: async () => ({ access_token: 't', expires_in: 3600 }) } });
  const response = await getMessaging(app).send({ topic: 'news', notification: { title: 'hello' } });
  return response === 'echoed';
};

//= discord.js
const { REST, Routes, EmbedBuilder } = require('discord.js');
const check = async () => {
  const echoed = await new REST({ version: '10' }).setToken('token').post(Routes.channelMessages('1'), { body: { embeds: [new EmbedBuilder().setTitle('t').toJSON()] } });
  return echoed.path === '/api/v10/channels/1/messages' && echoed.json.embeds[0].title === 't';
};

//= telegraf
const { Telegram } = require('telegraf');
const check = async () => (await new Telegram('1:token').sendMessage(5, 'hello')).text === 'echoed';

//= twitter-api-v2
const { TwitterApi } = require('twitter-api-v2');
const check = async () => {
  const echoed = await new TwitterApi({ appKey: 'a', appSecret: 'b', accessToken: 'c', accessSecret: 'd' }).v2.tweet('hello');
  return echoed.json.text === 'hello' && echoed.headers.authorization.startsWith('OAuth ');
};

//= @microsoft/microsoft-graph-client
const { Client } = require('@microsoft/microsoft-graph-client');
const check = async () => {
  const client = Client.init({ authProvider: (done) => done(null, 'token') });
  const echoed = await client.api('/me/messages').top(5).get();
  return echoed.path.startsWith('/v1.0/me/messages?$top=5') && echoed.headers.authorization === 'Bearer token';
};

//= contentful-management
const { createClient } = require('contentful-management');
const check = async () => {
  const space = await createClient({ accessToken: 'token' }, { type: 'plain' }).space.get({ spaceId: 's1' });
  return space.path === '/spaces/s1';
};

//= @pipedream/platform
import { axios, ConfigurationError, DEFAULT_POLLING_SOURCE_TIMER_INTERVAL, getFileStream } from '@pipedream/platform';
import { text } from 'node:stream/consumers';
const check = async ({ $ }) => {
  const data = await axios($, { url: 'https://echo.test/p', params: { a: 1, b: undefined }, headers: { 'x-a': 'b', 'x-none': undefined } });
  const whole = await axios($, { url: 'https://echo.test/w', returnFullResponse: true });
  const failed = await axios($, { url: 'https://echo.test/status/404' }).catch((error) => error);
  const file = await text(await getFileStream('https://echo.test/text/file'));
  return data.path === '/p?a=1' && data.headers['x-a'] === 'b' && !('x-none' in data.headers) && whole.status === 200 && failed.response.status === 404
    && file === 'file' && DEFAULT_POLLING_SOURCE_TIMER_INTERVAL === 900 && new ConfigurationError('x').name === 'ConfigurationError';
};
